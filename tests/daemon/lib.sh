# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the daemon share, on top of those of the command: a daemon
# that serves this test's tables only, and keeps its files in $dir/run.
#
#	. "$(dirname "$0")/lib.sh"
#	table mine
#	reaperd			# $daemon, and its log in $dir/log
#
# REAPERD is the binary under test.
. "$(dirname "$0")/../command/lib.sh"

REAPERD=${REAPERD:-$here/../../build/release/leasehold-reaperd}
must_run "$REAPERD"
forget LEASEHOLD_REAPERD_
unset NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID JOURNAL_STREAM
export RUNTIME_DIRECTORY=$dir/run XDG_CONFIG_HOME=$dir/config
mkdir -p "$RUNTIME_DIRECTORY" "$XDG_CONFIG_HOME"
pidfile=$RUNTIME_DIRECTORY/pid
socket=$RUNTIME_DIRECTORY/metrics.sock

# logged TEXT: is it in the log by now?
logged() {
	grep -qF -- "$1" "$dir/log"
}

times_logged() {
	grep -cF -- "$1" "$dir/log"
}

# reaperd OPTION...: in the background, with these options, and ready.
reaperd_with() {
	: >"$dir/log"
	bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" \
	    "$REAPERD" -f "$@"
	daemon=$pid
	if ! until_true 10000 logged ' serves '; then
		echo "Bail out! the daemon does not start"
		cat "$dir/log" >&3
		exit 1
	fi
}

# The same, for the table of this test.
reaperd() {
	reaperd_with -t "$LEASEHOLD_TABLE" "$@"
}

# A table that is looked after.
served() {
	lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null
	until_true 5000 logged "table $LEASEHOLD_TABLE is served"
}

# state KEY: held or free, asking nobody.
state() {
	lh dump --json | jq -r --arg k "$1" '.keys[] | select(.key == $k) |
	    .state'
}

state_is() {
	[ "$(state "$1")" = "$2" ]
}

# sessions: how many there are that live or have something, asking nobody.
sessions() {
	lh dump --json | jq '[.sessions[] |
	    select(.state != "dead" or .leases_reserved > 0)] | length'
}

sessions_are() {
	[ "$(sessions)" = "$1" ]
}

# metrics: the text, as a collector gets it
metrics() {
	# faster than client.py; who is not let ask in time gets it as well
	perl -MIO::Socket::UNIX -e '
		$SIG{PIPE} = "IGNORE";
		$s = IO::Socket::UNIX->new($ARGV[0]) or exit 1;
		print $s "GET /metrics HTTP/1.0\r\n\r\n";
		local $/;
		($_ = <$s>) =~ s/.*?\r\n\r\n//s;
		print' "$socket"
}

# metric NAME [TABLE]: its value for that table, this test's by default
metric() {
	metrics | sed -n "s/^$1{table=\"${2:-$LEASEHOLD_TABLE}\"} //p"
}

metric_is() {
	[ "$(metric "$1")" = "$2" ]
}

# How many leases it has ended: at their deadlines, or in a later pass.
ended_leases() {
	echo $(($(metric leasehold_reaper_expired_total) +
	    $(metric leasehold_reaper_finished_total)))
}

has_ended() {
	[ "$(ended_leases)" -ge "$1" ]
}

# manual PROGRAM: its pages, in sections 8 and 5, format without a warning, and
# leave no option, key or exit status out
pages=$here/../../doc/man
manual() {
	local name o key s page

	name=$(basename "$1")
	for page in "$name.8" "$name.conf.5"; do
		run groff -ww -mdoc -Tutf8 "$pages/$page"
		is "$status$err" 0 "$page formats without a warning"
		groff -mdoc -Tascii -P-cbou -rLL=1000n "$pages/$page" \
		    2>/dev/null | tr -s ' \n' ' ' >"$dir/$page"
	done
	"$1" --help | grep -o -e ' --*[a-zA-Z][a-z-]*' | sort -u |
	    tr -d ' ' >"$dir/options"
	ok "$name --help has options" test -s "$dir/options"
	while read -r o; do
		ok "$name(8) has $o" grep -qF -e "$o" "$dir/$name.8"
	done <"$dir/options"
	echo nonsense = 1 >"$dir/nonsense"
	run "$1" -n -c "$dir/nonsense"
	for key in $(sed 's/.*the keys are //; s/,//g' <<<"$err"); do
		ok "$name.conf(5) has $key" grep -q "^\.It Cm $key\$" \
		    "$pages/$name.conf.5"
	done
	for s in 0 64 69 71 78; do
		ok "$name(8) has exit status $s" grep -qx ".It $s" \
		    "$pages/$name.8"
	done
}

# manual_has NAME PREFIX <METRICS: after manual, all that begin so
manual_has() {
	local m

	for m in $(sed -n "s/^# TYPE $2_\([a-z_]*\) .*/\1/p"); do
		ok "$1(8) has $m" grep -q "\<$m\>" "$dir/$1.8"
	done
}

# tries N COMMAND...: does it succeed in one of so many?  For what is late if we,
# or the daemon, are not let run.
tries() {
	local n=$1

	shift
	for ((; n > 0; n--)); do
		"$@" && return
	done
	return 1
}

# A second is long enough for any pass.
settle() {
	sleep 1
}
