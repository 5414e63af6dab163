# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the command share: TAP, tables that are nobody else's,
# processes that do not outlive the test, and waiting for things with a limit.
#
#	. "$(dirname "$0")/lib.sh"
#	run true; is "$status" 0 "it works"
#	...
#	finish
#
# LEASEHOLD is the binary under test.  LH_TEST_SLOW=N (valgrind, sanitizers)
# stretches leases and limits that go through t_ms.
#
# Every table name comes from table(); its object is removed at the end, also
# after a failure.  Every process started with bg (or told to mind) is killed
# at the end by its id, if it is still there: of those that have ended the id may
# be another's by then.

set -u
here=$(cd "$(dirname "$0")" && pwd)
LEASEHOLD=${LEASEHOLD:-$here/../../build/release/leasehold}
case $LEASEHOLD in
/*) ;;
*)	LEASEHOLD=$(cd "$(dirname "$LEASEHOLD")" && pwd)/$(basename \
	    "$LEASEHOLD") ;;
esac
export LEASEHOLD

# must_run PROGRAM...
must_run() {
	local p

	for p in "$@"; do
		[ -x "$p" ] && continue
		echo "Bail out! $p cannot be run"
		exit 1
	done
}

# forget PREFIX: what the environment says in variables that begin so
forget() {
	local v

	for v in $(compgen -e "$1"); do
		unset "$v"
	done
}

must_run "$LEASEHOLD"
slow=${LH_TEST_SLOW:-1}

dir=$(mktemp -d "${TMPDIR:-/tmp}/leasehold-command.XXXXXX") || exit 1
tested=0
failed=0
finished=0
minded=()
tables=()

# born PID: $born, when it began, in ticks; empty: there is none
born() {
	local stat

	born=
	[ -n "$1" ] || return 0
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	read -ra stat <<<"${stat##*) }"
	born=${stat[19]}
}

# mind PID...: kill them at the end
mind() {
	local p born

	for p in "$@"; do
		born "$p"
		[ -z "$born" ] || minded[$p]=$born
	done
}

kill_minded() {
	local p born

	for p in "${!minded[@]}"; do
		born "$p"
		[ "$born" != "${minded[$p]}" ] || kill -KILL "$p" 2>/dev/null
	done
}

unset LEASEHOLD_SYSTEM LEASEHOLD_HELD LEASEHOLD_KEY LEASEHOLD_LOSS_FD LEASEHOLD_LIBRARY NO_COLOR
export LC_ALL=C.UTF-8 TERM=xterm

clean() {
	local t live of system=/dev/shm/leasehold.system files=("$dir")

	[ "$finished$failed" = 10 ] || diag "--- noise:" "$(cat "$dir/noise")"
	kill_minded
	of=/dev/shm/leasehold.$EUID
	for t in "${tables[@]}"; do
		for live in "$of/$t".live.*; do
			files+=("$of/${live##*.}"-*.sign*)
		done
		files+=("$of/$t.table" "$of/$t.floor" "$of/$t".live.*
		    "$system/$t.table" "$system/$t.floor" "$system/$t".live.*)
	done
	rm -rf "${files[@]}"
}
trap clean EXIT

# The watchdog: a test that takes two minutes (or $watch_s) hangs; it waits for our child.
mkfifo "$dir/watch" "$dir/naps"
(
	exec 3<>"$dir/watch" >/dev/null
	read -r -t $((${watch_s:-120} * slow)) -u 3 _ && exit
	echo "# killed by the watchdog" >&2
	kill -TERM $$
	pkill -KILL -P $$
) &
mind $!
disown
# Diagnostics go to 3.  Other lines of 2 (bash writes one for each job that is
# killed) are shown only if a test failed.
exec 3>&2 2>"$dir/noise"
trap 'exit 1' HUP INT TERM

# relink SOURCE SYMBOL...: $dir/leasehold, the command that is under test with
# SOURCE, of this folder, in place of some functions
relink() {
	local source=$here/$1 build=${LEASEHOLD%/*} o objects=()

	shift
	for o in "$here"/../../tools/*.c; do
		o=${o##*/}
		objects+=("$build/tools/${o%.c}.o")
	done
	# shellcheck disable=SC2086
	${CC:-gcc} -std=c11 -D_GNU_SOURCE -pthread -I"$here/../../include" \
	    ${CPPFLAGS:-} ${CFLAGS:-} -o "$dir/leasehold" "${objects[@]}" \
	    "$source" "${@/#/-Wl,--wrap=}" "$build/libdaemon.a" \
	    "$build/libleasehold.a" ${LDFLAGS:-} -lbsd -ljansson -lncursesw \
	    -ltinfo 2>"$dir/cc" && return
	diag "$(cat "$dir/cc")"
	echo "Bail out! cannot link the command with ${source##*/}"
	exit 1
}

# compile SOURCE: $dir/NAME, a program of this folder that uses the library
compile() {
	local build=${LEASEHOLD%/*} to=$dir/${1%.c}

	# shellcheck disable=SC2086
	${CC:-gcc} -std=c11 -D_GNU_SOURCE -pthread -I"$here/../../include" \
	    ${CPPFLAGS:-} ${CFLAGS:-} -o "$to" "$here/$1" \
	    "$build/libleasehold.a" ${LDFLAGS:-} -lbsd 2>"$dir/cc" && return
	diag "$(cat "$dir/cc")"
	echo "Bail out! cannot compile $1"
	exit 1
}

# table NAME: use table NAME.PID from now on.
table() {
	LEASEHOLD_TABLE=test-$1.$$
	export LEASEHOLD_TABLE
	tables+=("$LEASEHOLD_TABLE")
}

object() {
	echo "/dev/shm/leasehold.$EUID/$LEASEHOLD_TABLE.table"
}

diag() {
	printf '%s\n' "$@" | sed 's/^/# /' >&3
}

pass() {
	tested=$((tested + 1))
	printf 'ok %d - %s\n' "$tested" "$1"
}

fail() {
	tested=$((tested + 1))
	failed=$((failed + 1))
	printf 'not ok %d - %s\n' "$tested" "$1"
	diag "failed: $1"	# prove shows what is said there alone
}

# skip WHY NAME
skip() {
	tested=$((tested + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tested" "$2" "$1"
}

# ok NAME COMMAND...: it succeeds.
ok() {
	local name=$1

	shift
	if "$@"; then
		pass "$name"
	else
		fail "$name"
		diag "failed: $*"
	fi
}

# is GOT WANTED NAME
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		diag "got:    $1" "wanted: $2"
	fi
}

isnt() {
	if [ "$1" != "$2" ]; then
		pass "$3"
	else
		fail "$3"
		diag "got what must not be: $1"
	fi
}

# like TEXT PART NAME: the part is in it, as it is.
like() {
	if [[ $1 == *"$2"* ]]; then
		pass "$3"
	else
		fail "$3"
		diag "got:    $1" "wanted in it: $2"
	fi
}

# between N LOW HIGH NAME
between() {
	if [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; then
		pass "$4"
	else
		fail "$4"
		diag "got: $1, wanted: $2 to $3"
	fi
}

finish() {
	finished=1
	printf '1..%d\n' "$tested"
	[ "$failed" = 0 ]
	exit
}

# t_ms MS: stretched for slow runs.
t_ms() {
	echo $(($1 * slow))
}

# look_at_clock: $now, in ms since 1970, without a process
look_at_clock() {
	now=${EPOCHREALTIME/[.,]/}
	now=${now%???}
}

now_ms() {
	local now

	look_at_clock
	echo "$now"
}

# nap MS: without a process, which `sleep` is
nap() {
	local s

	printf -v s '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
	read -r -t "$s" <>"$dir/naps"
	return 0
}

# until_true MS COMMAND...: until it succeeds; fails when time is up.  It is asked
# less often when it takes long.
until_true() {
	local now end pause=10

	look_at_clock
	end=$((now + $1 * slow))
	shift
	until "$@" >/dev/null 2>&1; do
		look_at_clock
		[ "$now" -lt "$end" ] || return 1
		nap $pause
		[ $pause -ge 50 ] || pause=$((pause + 5))
	done
}

# run COMMAND...: $status, $out, $err, and how long it took in $took (ms).
run() {
	local now began

	look_at_clock
	began=$now
	"$@" >"$dir/out" 2>"$dir/err" </dev/null 3>&-
	status=$?
	look_at_clock
	took=$((now - began))
	out=$(<"$dir/out")
	err=$(<"$dir/err")
}

# run_alone COMMAND...: again while the table is in use by a process that
# cannot be found, 50 times at most.  Another repair copies each descriptor of this
# machine for a moment, also one of a process that was just killed.
run_alone() {
	local i

	for ((i = 0; i < 50; i++)); do
		run "$@"
		[ "$status" = 75 ] || return 0
		[[ $err == *'a process that cannot be found'* ]] || return 0
		nap 100
	done
}

# own_places: in a mount namespace of its own (unshare -m), an /etc with users and
# groups alone, and an empty /dev/shm
own_places() {
	local f files=(passwd group nsswitch.conf ld.so.cache)

	for f in "${files[@]}"; do
		[ ! -e "/etc/$f" ] || cp "/etc/$f" "$dir/$f"
	done
	if ! mount -t tmpfs -o mode=755 none /etc ||
	    ! mount -t tmpfs -o mode=1777 none /dev/shm; then
		echo "Bail out! cannot mount"
		exit 1
	fi
	for f in "${files[@]}"; do
		[ ! -e "$dir/$f" ] || cp "$dir/$f" /etc
	done
}

# as USER COMMAND...: as that user, whom no group has
as() {
	setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"
}

has_own_users() {
	! [ "/proc/$1/ns/user" -ef /proc/self/ns/user ]
}

# user_namespace: makes one, whose users 0 to 65535 are 100000 to 165535 outside;
# `inside` enters it.  Ends the test as skipped if there can be none.
user_namespace() {
	bg unshare -U sleep 1000
	namespace=$pid
	if ! until_true 5000 has_own_users "$namespace"; then
		echo "1..0 # SKIP no user namespaces here"
		exit 0
	fi
	echo 0 100000 65536 >"/proc/$namespace/uid_map"
	echo 0 100000 65536 >"/proc/$namespace/gid_map"
}

# inside USER COMMAND...: as that user of the namespace
inside() {
	nsenter -U -t "$namespace" setpriv --reuid "$1" --regid "$1" \
	    --clear-groups "${@:2}"
}

# tries COMMAND...: until it says true, three times at most.  A check that depends
# on the scheduler is repeated (as t_tries() in C); one that does not is made
# each time.
tries() {
	local i

	for i in 1 2 3; do
		"$@" && return
		diag "not in time, $i of 3: ${*:0:70}"
	done
	return 1
}

# in_time MS COMMAND...: it sets $took, which is not to be above MS (tries)
in_time() {
	local most=$1

	shift
	is_in_time() {
		"$@"
		[ "$took" -le "$most" ]
	}
	tries is_in_time "$@"
}

# bg COMMAND...: in the background; $pid.  Scripts' background processes ignore
# INT and QUIT, which `run` rightly leaves ignored: here they do not.
bg() {
	env --default-signal=INT,QUIT "$@" </dev/null 3>&- &
	pid=$!
	mind "$pid"
}

# ended PID: waits for a child of ours; $status.
ended() {
	wait "$1" 2>/dev/null
	status=$?
}

lh() {
	"$LEASEHOLD" "$@"
}

is_held() {
	lh status "$1"
}

is_free() {
	! lh status "$1" 2>/dev/null
}

# listed LIST KEY: how many there are in this list of the key's status; jq, whose
# start takes ten times as long as the command's, is left to what is asserted
listed() {
	local json n=0

	json=$(lh status --json "$2")
	[[ $json == *"\"$1\": ["* ]] || return
	json=${json#*"\"$1\": ["}
	json=${json%%$'\n  ]'*}
	while [[ $json == *$'\n    {'* ]]; do
		json=${json#*$'\n    {'}
		n=$((n + 1))
	done
	echo $n
}

# waiters KEY: how many wait
waiters() {
	listed waiters "$1"
}

has_waiters() {
	[ "$(waiters "$1")" = "$2" ]
}

# holders KEY: how many hold it
holders() {
	listed holders "$1"
}

has_holders() {
	[ "$(holders "$1")" = "$2" ]
}

# command_runs PID: the command of that `run` has begun, and is $command.  Its key
# is held before that.
command_runs() {
	command=$(pgrep -o -P "$1") &&
	    [ ! "/proc/$command/exe" -ef "/proc/$1/exe" ]
}

begun() {
	until_true 5000 command_runs "$1" || diag "no command of $1"
}

# slain PID: that `run`, and its command, which dies a moment after it and till
# then has the liveness descriptor.
slain() {
	begun "$1"
	kill -KILL "$1"
	ended "$1"
	until_true 5000 gone "$command"
}

# lock_in_flight: $locker, a member, has every byte of the table of root's locked, by
# a descriptor in flight, which no process shows
lock_in_flight() {
	rm -f "$dir/locker"
	python3 -c '
import array, fcntl, glob, os, socket, struct, sys, time

fd = os.open(glob.glob(sys.argv[1])[0], os.O_RDWR)
fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
a, b = socket.socketpair()
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
    array.array("i", [fd]))])
os.close(fd)
print("locked", flush=True)
time.sleep(100)' "/dev/shm/leasehold.0/$LEASEHOLD_TABLE.live.*" >"$dir/locker" &
	locker=$!
	mind $locker
	until_true 10000 grep -q locked "$dir/locker"
}

holder_pid() {
	[[ $(lh status --json "$1") =~ '"pid": '([0-9]+) ]]
	echo "${BASH_REMATCH[1]}"
}

exists() {
	[ -e "$1" ]
}

# state_of PID: $state, by its letter; empty: no such process
state_of() {
	state=
	{ read -r state <"/proc/$1/stat"; } 2>/dev/null
	state=${state##*) }
	state=${state%% *}
}

# gone PID: no such process, or a zombie that only waits to be reaped
gone() {
	local state

	state_of "$1"
	[ -z "$state" ] || [ "$state" = Z ]
}

is_stopped() {
	local state

	state_of "$1"
	[ "$state" = T ]
}
