#!/bin/bash
# SPDX-License-Identifier: MIT
# The units: installed where they are looked for, understood by systemd, and
# little exposed; and the daemon runs as they run it.
. "$(dirname "$0")/lib.sh"
table units
top=$here/../..
root=$dir/root

# make hands its own variables down
run env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$top" install \
    DESTDIR="$root" PREFIX=/usr
is "$status" 0 "make install: 0"
for f in sbin/leasehold-reaperd share/man/man8/leasehold-reaperd.8 \
    share/man/man5/leasehold-reaperd.conf.5 lib/sysusers.d/leasehold-reaperd.conf \
    lib/tmpfiles.d/leasehold-reaperd.conf \
    lib/systemd/system/leasehold-reaperd.service \
    lib/systemd/system/leasehold-reaperd-metrics.socket \
    lib/systemd/system/leasehold-table.service \
    lib/systemd/user/leasehold-reaperd.service sbin/leasehold-shimd \
    share/man/man8/leasehold-shimd.8 share/man/man5/leasehold-shimd.conf.5 \
    lib/systemd/system/leasehold-shimd@.service \
    lib/systemd/user/leasehold-shimd@.service; do
	ok "  $f" test -s "$root/usr/$f"
done
system=$root/usr/lib/systemd/system/leasehold-reaperd.service
user=$root/usr/lib/systemd/user/leasehold-reaperd.service

# unit FILE WATCHDOG: what is in it; what it starts, in $command, is installed
unit() {
	local d

	is "$(grep -o '@[A-Z]*@' "$1")" "" "no place is left unnamed"
	for d in Type=notify "WatchdogSec=$2" NoNewPrivileges=yes \
	    MemoryDenyWriteExecute=yes SystemCallFilter=@system-service; do
		ok "  $d" grep -qx "$d" "$1"
	done
	command=$(sed -n 's/^ExecStart=//p' "$1")
	ok "  starts what is installed" test -x "$root${command%% *}"
}

for u in "$system" "$user"; do
	unit "$u" 10
	# shellcheck disable=SC2086
	run "$REAPERD" -n ${command#* }
	is "$status" 0 "  with options that it has"
done

# The machine's table: what makes it has the options, and the reaper comes after.
table_unit=$root/usr/lib/systemd/system/leasehold-table.service
makes=$(sed -n 's/^ExecStart=//p' "$table_unit")
ok "the table's unit starts what is installed" test -x "$root${makes%% *}"
options=$(sed 's/--system --table default/--table '"$LEASEHOLD_TABLE"'/
    s/--group leasehold/--group '"$(id -gn)"'/
    s,--durable,--fence-dir '"$dir"'/fence,' <<<"${makes#* }")
for _ in once again; do
	# shellcheck disable=SC2086
	run "$root${makes%% *}" $options
	is "$status$err" 0 "  with options that it has"
done
is "$(stat -c %a "$(object)")" 660 "  for the group"
for d in Wants After; do
	ok "the reaper's unit: $d" grep -qx "$d=leasehold-table.service" "$system"
done
metrics_unit=$root/usr/lib/systemd/system/leasehold-reaperd-metrics.socket
for d in Service=leasehold-reaperd.service FileDescriptorName=metrics \
    IPAddressDeny=any IPAddressAllow=localhost; do
	ok "the metrics' socket: $d" grep -qx "$d" "$metrics_unit"
done
like "$(sed -n 's/^ListenStream=//p' "$metrics_unit")" 127.0.0.1: \
    "  it listens on loopback alone"
ok "  it is for a socket unit to open, not for the service" grep -qx \
    RestrictAddressFamilies=AF_UNIX "$system"

# The shim's: the same bar.  The machine's makes its table first, as root.
before=$(sed -n 's/^ExecStartPre=+//p' \
    "$root/usr/lib/systemd/system/leasehold-shimd@.service")
ok "what comes before it is installed" test -x "$root${before%% *}"
options=${before#* }
# shellcheck disable=SC2086
run "$root${before%% *}" ${options//%i/$LEASEHOLD_TABLE.none}
is "$status" "$([ "$(id -u)" = 0 ] && echo 73 || echo 77)" \
    "  with options that it has: there is no section about that table"
for u in system user; do
	u=$root/usr/lib/systemd/$u/leasehold-shimd@.service
	unit "$u" 5
	options=${command#* }
	# shellcheck disable=SC2086
	run env LEASEHOLD_SHIMD_ENDPOINTS=http://127.0.0.1:1 \
	    "$root${command%% *}" -n ${options//%i/x}
	is "$status" 0 "  with options that it has"
done

if command -v systemd-analyze >/dev/null; then
	run systemd-analyze security --offline=yes --threshold=20 \
	    "$root/usr/lib/systemd/system/leasehold-shimd@.service"
	is "$status" 0 "the shim's exposure is at most 2.0"
	diag "$(grep Overall <<<"$out")"
	run systemd-analyze security --offline=yes --threshold=20 "$system"
	is "$status" 0 "exposure at most 2.0"
	diag "$(grep Overall <<<"$out")"
	run systemd-analyze security --offline=yes --threshold=20 "$table_unit"
	is "$status" 0 "the exposure of what makes the table is at most 2.0"
	diag "$(grep Overall <<<"$out")"
	# it looks for what the units start in the machine's root
	mkdir -p "$dir/units/system" "$dir/units/user"
	for u in system user; do
		sed "s|^ExecStart=/usr/sbin/leasehold-reaperd|ExecStart=$REAPERD|
		    s|^Documentation=.*||" \
		    "$root/usr/lib/systemd/$u/leasehold-reaperd.service" \
		    >"$dir/units/$u/leasehold-reaperd.service"
	done
	sed "s|^ExecStart=/usr|ExecStart=$root/usr|; s|^Documentation=.*||" \
	    "$table_unit" >"$dir/units/system/leasehold-table.service"
	sed "s|^Documentation=.*||" "$metrics_unit" \
	    >"$dir/units/system/leasehold-reaperd-metrics.socket"
	for u in leasehold-table.service leasehold-reaperd-metrics.socket; do
		run systemd-analyze verify "$dir/units/system/$u"
		is "$status$err" 0 "systemd understands $u"
	done
	run systemd-analyze verify "$dir/units/system/leasehold-reaperd.service"
	is "$status$err" 0 "systemd understands the machine's unit"
	run env XDG_RUNTIME_DIR="$dir" systemd-analyze --user verify \
	    "$dir/units/user/leasehold-reaperd.service"
	is "$status$err" 0 "and the user's"
	for u in system user; do
		sed "s|^ExecStart=/usr|ExecStart=$root/usr|
		    s|^ExecStartPre=+/usr|ExecStartPre=+$root/usr|
		    s|^Documentation=.*||" \
		    "$root/usr/lib/systemd/$u/leasehold-shimd@.service" \
		    >"$dir/units/$u/leasehold-shimd@.service"
	done
	run systemd-analyze verify "$dir/units/system/leasehold-shimd@.service"
	is "$status$err" 0 "the shim's unit of the machine as well"
	run env XDG_RUNTIME_DIR="$dir" systemd-analyze --user verify \
	    "$dir/units/user/leasehold-shimd@.service"
	is "$status$err" 0 "and the user's"

	# What the filter lets through, and what the daemon does.
	systemd-analyze syscall-filter >"$dir/sets"
	calls() {
		local c

		for c in $(sed -n "/^$1\$/,/^\$/p" "$dir/sets" | sed 1d |
		    grep -v '#'); do
			case $c in
			@*)	calls "$c" ;;
			*)	echo "$c" ;;
			esac
		done
	}
	allowed=$(sed -n 's/^SystemCallFilter=\(@.*\)/\1/p' "$system")
	denied=$(sed -n 's/^SystemCallFilter=~\(@.*\)/\1/p' "$system")
	for c in $denied; do
		calls "$c"
	done | sort -u >"$dir/denied"
	for c in $allowed; do
		calls "$c"
	done | sort -u | comm -23 - "$dir/denied" >"$dir/allowed"
	ok "the filter lets something through" grep -qx epoll_wait \
	    "$dir/allowed"
	calls @default | sort -u - "$dir/allowed" >"$dir/through"

	# keeps_to FILE CALL WHO: WHO's calls, as strace counted them; CALL is
	# one of them
	keeps_to() {
		grep -x '[a-z0-9_]*' "$1" | grep -vx -e syscall -e total |
		    sort -u >"$dir/used"
		ok "$3 was watched" grep -qx "$2" "$dir/used"
		is "$(comm -23 "$dir/used" "$dir/through" | tr '\n' ' ')" "" \
		    "  and does nothing that the filter forbids"
	}
	REAL=$REAPERD
	printf '#!/bin/sh\nexec strace -f -qq -c -U name -o %s %s "$@"\n' \
	    "$dir/calls" "$REAL" >"$dir/traced"
	chmod +x "$dir/traced"
	REAPERD=$dir/traced reaperd
	served
	bg "$LEASEHOLD" run -F --ttl 60s k sleep 60
	until_true 5000 state_is k held
	kill -KILL "$pid"
	until_true 5000 state_is k free
	metrics >"$dir/metrics"
	kill -HUP "$(cat "$pidfile")"
	until_true 5000 logged "configuration read again"
	kill -TERM "$(cat "$pidfile")"
	ended "$daemon"
	keeps_to "$dir/calls" epoll_wait "the daemon"

	# The shim's is the same.
	for u in system user; do
		is "$(grep ^SystemCallFilter \
		    "$root/usr/lib/systemd/$u/leasehold-shimd@.service")" \
		    "$(grep ^SystemCallFilter "$system")" "the shim's filter"
	done
	forget LEASEHOLD_SHIMD_
	: >"$dir/log"
	STATE_DIRECTORY=$dir/state bg bash -c 'log=$1; shift
	    exec strace -f -qq -c -U name -o "$log.calls" "$@" 2>>"$log"' - \
	    "$dir/log" "$root/usr/sbin/leasehold-shimd" -f \
	    -e http://127.0.0.1:1
	until_true 5000 logged "is unreachable"
	until_true 5000 lh stats --shim
	run lh run -n cluster:k true
	kill -HUP "$(pgrep -P "$pid")"
	until_true 5000 logged "configuration read again"
	kill -TERM "$(pgrep -P "$pid")"
	ended "$pid"
	keeps_to "$dir/log.calls" connect "the shim"
else
	skip "there is no systemd-analyze" "exposure at most 2.0"
fi

run env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$top" uninstall \
    DESTDIR="$root" PREFIX=/usr
is "$(find "$root" ! -type d)" "" "make uninstall leaves no file"

finish
