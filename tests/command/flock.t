#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold flock FD` and `run --flock FILE`: what flock(1) does on a file, and
# a key with it.  Jobs with flock(1) and jobs with leasehold exclude each other.
#
# Otherwise a job could not be moved from flock(1) before all others are.
. "$(dirname "$0")/lib.sh"
table flock
unset LEASEHOLD_SESSION
file=$dir/lock
: >"$file"
key=file:$(stat -c '%d:%i' "$file")
# shellcheck disable=SC2317
{
held() {
	is_held "$1" >/dev/null
}
free() {
	is_free "$1" >/dev/null
}
kernel_free() {		# would flock(1) get it?
	flock -n "$file" true
}
kernel_free_shared() {
	flock -sn "$file" true
}
kernel_held() {
	! kernel_free
}
not_in() {
	! grep -q "$1" <<<"$2"
}
state() {
	[ "$(cat "$dir/state" 2>/dev/null)" = "$1" ]
}
}
within() {		# within MODE: is the lock held, in the script below
	cat >"$dir/script" <<END
exec 9>"$file"
"$LEASEHOLD" flock $1 9 || exit
echo locked >"$dir/state"
read -r _ <"$dir/go"
"$LEASEHOLD" flock -u 9
echo unlocked >"$dir/state"
read -r _ <"$dir/go"
END
	rm -f "$dir/state" "$dir/go"
	mkfifo "$dir/go"
	bg bash "$dir/script"
	script=$pid
}

within -x
ok "a script locks its descriptor" until_true 5000 state locked
ok "  its key is held" held "$key"
ok "  flock(1) does not get the file" kernel_held
run lh status --json "$key"
is "$(jq -c '.holders[0] | [.bound, .bound_pid, .policy]' <<<"$out")" \
    "[true,$script,\"strict\"]" "  for the life of the script"
exec 8>"$file"
run lh flock -n 8
is "$status" 75 "another one does not get it: 75"
like "$err" "descriptor 8 is not locked" "  says so"
run lh flock -qn -E 3 8
is "$status/$err" 3/ "  -E and -q"
run lh flock -w 0.3 8
is "$status" 75 "  nor in 0.3 s: 75"
between "$took" 300 "$(t_ms 1500)" "  after that time"
run lh flock -sn 8
is "$status" 75 "  nor shared"
echo >"$dir/go"
ok "unlocked" until_true 5000 state unlocked
ok "  the key is free" free "$key"
ok "  flock(1) gets the file" kernel_free
run lh flock -n 8
is "$status" 0 "  so does another script"
ok "  which holds the key" held "$key"
run lh flock -n 8
is "$status" 0 "  it may lock again"
run lh flock -s 8
is "$status" 0 "  or in the other mode"
ok "  and shares it then" kernel_free_shared
is "$(lh status --json "$key" | jq -r .mode)" shared "  the key, too"
run lh flock -u 8
is "$status" 0 "  released"
run lh flock -u 8
is "$status" 0 "  twice is no error"
ok "  the key is free" free "$key"
kill -KILL "$script"
wait "$script" 2>/dev/null

# The script is killed: both are free.
within -x
until_true 5000 state locked
kill -KILL "$script"
wait "$script" 2>/dev/null
ok "killed: the key is free" free "$key"
ok "  and the file" kernel_free

# One that waits gets it; so does a wait behind flock(1).
within -x
until_true 5000 state locked
cat >"$dir/next" <<END
exec 9>"$file"
"$LEASEHOLD" flock 9 && echo got >"$dir/got"
END
bg bash "$dir/next"
sleep 0.2
ok "one waits" test ! -e "$dir/got"
kill -KILL "$script"
ok "  and gets it when the holder is killed" until_true 5000 test -e "$dir/got"
rm -f "$dir/got"
until_true 5000 kernel_free
flock "$file" sleep 0.5 &
until_true 5000 kernel_held
bg bash "$dir/next"
ok "one waits for flock(1)" test ! -e "$dir/got"
ok "  and gets it afterwards" until_true 5000 test -e "$dir/got"
until_true 5000 kernel_free

exec 8>&-

# run --flock
run lh run --flock "$file" job flock -n "$file" true
is "$status" 1 "run --flock: flock(1) does not get the file meanwhile"
ok "  but afterwards" kernel_free
run lh run -s --flock "$file" job flock -sn "$file" true
is "$status" 0 "  -s: shared"
flock "$file" sleep 150 &
old=$!
mind "$old"
until_true 5000 kernel_held
run lh run -n --flock "$file" job true
is "$status" 75 "a job of flock(1) runs: 75"
like "$err" "another process has '$file' locked (flock)" "  says so"
mkfifo "$dir/fifo"
run timeout $((20 * slow)) "$LEASEHOLD" run -n -w 1s --flock "$dir/fifo" job true
is "$status" 0 "a FIFO is locked, without a wait for who writes to it"
run lh run -w 0.3 -E 5 --flock "$file" job true
is "$status" 5 "  and -w, -E"
between "$took" 300 "$(t_ms 1500)" "  after that time"
run lh run -n job true
is "$status" 0 "  the key itself is free"
pkill -KILL -P "$old" 2>/dev/null
wait "$old" 2>/dev/null
until_true 5000 kernel_free
# shellcheck disable=SC2016
run lh run --flock "$file" job sh -c 'sleep 150 & echo $! >"$0"' "$dir/bg"
mind "$(cat "$dir/bg")"
ok "a job that is left behind does not keep the file" kernel_free
kill -KILL "$(cat "$dir/bg")"
run lh run --flock "$file" job sh -c 'ls -l /proc/self/fd'
ok "the command has the descriptor" grep -q "$file" <<<"$out"
run lh run -o --flock "$file" job sh -c 'ls -l /proc/self/fd'
ok "  not with -o" not_in "$file" "$out"
run lh run -F --ttl 10s --flock "$file" job flock -n "$file" true
is "$status" 1 "-F: the command that takes our place holds the file"
run lh run -F -o --ttl 10s --flock "$file" job true
is "$status" 64 "-F with -o: 64"
run lh run --flock "$file" "job,$key" true
is "$status" 64 "with the key that 'leasehold flock' acquires first: 64"
like "$err" "could wait for each other" "  says why"
run lh run --flock "$dir" job true
is "$status" 0 "a directory"
run lh run --flock "$dir/none/x" job true
is "$status" 73 "no such directory: 73"
like "$err" "cannot open '$dir/none/x'" "  says so"

bad() {		# bad PART ARGUMENT...
	local want=$1

	shift
	run lh flock "$@"
	is "$status" 64 "64: flock $*"
	like "$err" "$want" "  says: $want"
}
bad "descriptor 77 is not open" 77
bad "flock takes one descriptor" -n
bad "flock takes one descriptor" 8 true
bad "'lock' is not a whole number" lock
bad "prints nothing: no --json" --json 8

# the page says that a wait ends with the thread that started it
if command -v python3 >/dev/null; then
	run timeout 30 python3 -c 'import fcntl, os, subprocess, sys, threading, time
taken = open(sys.argv[2], "w")
fcntl.flock(taken, fcntl.LOCK_EX)
os.dup2(os.open(sys.argv[2], os.O_RDWR), 9)
started = []
def start():
    started.append(subprocess.Popen([sys.argv[1], "flock", "9"], pass_fds=[9]))
    time.sleep(1)
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(started[0].wait(20))' "$LEASEHOLD" "$dir/threads.lock"
	is "$status $out" "0 -9" "a wait ends with the thread that started it"
else
	skip "no python3" "a wait ends with the thread that started it"
fi
finish
