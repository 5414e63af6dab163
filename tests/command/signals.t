#!/bin/bash
# SPDX-License-Identifier: MIT
# Signals to a `run` that waits, and to one that holds, without a terminal.
#
# Otherwise a job would survive the end of its script, or the script would hang.
. "$(dirname "$0")/lib.sh"
table signals

hold() {	# hold KEY COMMAND...: until $holder ends
	bg "$LEASEHOLD" run "$@"
	holder=$pid
	until_true 5000 is_held "$1" || diag "nobody holds $1"
	begun "$holder"
}

# A waiter: leaves no trace, runs nothing.
hold k sleep 150
gives_up() {
	local began

	bg "$LEASEHOLD" run k touch "$dir/ran" 2>"$dir/err"
	waiter=$pid
	until_true 5000 has_waiters k 1 || diag "no waiter"
	kill "-$1" "$waiter"
	began=$(now_ms)
	ended "$waiter"
	took=$(($(now_ms) - began))
}
for s in INT TERM HUP QUIT; do
	in_time "$(t_ms 1000)" gives_up $s
	is "$status" $((128 + $(kill -l $s))) "SIG$s to a waiter: 128 and it"
	between "$took" 0 "$(t_ms 1000)" "  soon"
	is "$(waiters k)" 0 "  no waiter is left"
	is "$(wc -l <"$dir/err")" 1 "  says so in one line"
done
ok "nothing was run" test ! -e "$dir/ran"
bg "$LEASEHOLD" run k echo
waiter=$pid
until_true 5000 has_waiters k 1
kill -STOP "$waiter"
until_true 5000 is_stopped "$waiter"
kill -TERM "$waiter"
kill -CONT "$waiter"
ended "$waiter"
is "$status" 143 "a stopped waiter ends when it is continued"
killed() {
	is_held k || hold k sleep 150
	bg "$LEASEHOLD" run k true
	waiter=$pid
	until_true 5000 has_waiters k 1
	kill -USR1 "$waiter"
	ended "$waiter"
	is "$status" $((128 + $(kill -l USR1))) "SIGUSR1 ends a waiter, as usual"
	kill -KILL "$holder"
	run lh run -w 10s k true
	is "$status" 0 "dead waiters are in nobody's way"
}
in_time "$(t_ms 2000)" killed
between "$took" 0 "$(t_ms 2000)" "  nor is the dead holder"

hold k sleep 150
env --ignore-signal=HUP "$LEASEHOLD" run k true </dev/null &
waiter=$!
mind $waiter
until_true 5000 has_waiters k 1
kill -HUP $waiter
sleep 0.3
ok "a waiter that was started with HUP ignored waits on" has_waiters k 1
kill -TERM "$holder"
ended $waiter
is "$status" 0 "  and gets it"

# A holder: its command gets the signal, the key is free.
for s in INT TERM HUP QUIT USR1 USR2; do
	hold k sleep 150
	kill -$s "$holder"
	ended "$holder"
	is "$status" $((128 + $(kill -l $s))) "SIG$s to a holder: 128 and it"
	ok "  the key is free" is_free k
done

# The command decides what a signal means.
hold k bash -c 'trap "echo got it >'"$dir"'/got; exit 3" TERM USR2
    echo up >'"$dir"'/up; while :; do sleep 0.05; done'
until_true 5000 exists "$dir/up"
kill -TERM "$holder"
ended "$holder"
is "$status" 3 "a command that catches TERM ends as it likes"
ok "  and has caught it" test -s "$dir/got"
rm -f "$dir/up"
hold k bash -c 'trap "" INT; trap "exit 4" USR1; echo up >'"$dir"'/up
    while :; do sleep 0.05; done'
until_true 5000 exists "$dir/up"
kill -INT "$holder"
sleep 0.2
ok "a command that ignores INT goes on, and so do we" is_held k
kill -WINCH "$holder"
sleep 0.1
ok "WINCH harms nobody" is_held k
kill -USR1 "$holder"
ended "$holder"
is "$status" 4 "USR1 is passed on"

# A shell and its worker: both get it.
rm -f "$dir/up"
hold k sh -c "sleep 61 & echo \$! >$dir/worker; echo up >$dir/up; wait; :"
until_true 5000 exists "$dir/up"
mind "$(cat "$dir/worker")"
kill -TERM "$holder"
ended "$holder"
is "$status" 143 "a shell with a worker: TERM"
ok "  the worker has ended, too" gone "$(cat "$dir/worker")"

# A worker that cleans up after TERM is still working: the lease covers it.
rm -f "$dir/up"
cat >"$dir/slow" <<END
trap 'until [ -e $dir/go ]; do sleep 0.05; done
    echo cleaned >$dir/cleaned; exit 0' TERM
echo up >$dir/up
while :; do sleep 0.05; done
END
hold k sh -c "bash $dir/slow & wait; :"
until_true 5000 exists "$dir/up"
kill -TERM "$holder"
ok "the shell is dead" until_true 5000 gone "$command"
sleep 0.3
ok "  its worker cleans up: still held" is_held k
touch "$dir/go"
ended "$holder"
is "$status" 143 "  then the shell's status"
ok "  after the worker was done" test -s "$dir/cleaned"
ok "  and the key is free" is_free k

# What it left in the background on purpose does not keep the key.
leaves() {
	run lh run k sh -c "sleep 62 & echo \$! >$dir/worker"
	mind "$(cat "$dir/worker")"
	is "$status" 0 "a command that leaves something in the background"
}
in_time "$(t_ms 3000)" leaves
between "$took" 0 "$(t_ms 3000)" "  is not waited for"
ok "  the key is free" is_free k
ok "  and it lives" kill -0 "$(cat "$dir/worker")"
run lh run -n k true
is "$status" 0 "  and others can have the key"
kill -KILL "$(cat "$dir/worker")"

# A signal that is there before the command starts: it does not start.
run python3 -c 'import os, signal as s
s.pthread_sigmask(s.SIG_BLOCK, [s.SIGTERM])
os.kill(os.getpid(), s.SIGTERM)
os.execv(os.environ["LEASEHOLD"], ["leasehold", "run", "k", "touch",
    "'"$dir"'/ran"])'
is "$status" 143 "TERM between the grant and the start"
like "$err" "not started" "  says so"
ok "  nothing was run" test ! -e "$dir/ran"
ok "  and the key is free" is_free k

# Ignored by our caller: ignored by us and by the command.
env --ignore-signal=HUP,INT "$LEASEHOLD" run k sleep 150 </dev/null &
holder=$!
mind $holder
until_true 5000 is_held k
kill -HUP $holder
kill -INT $holder
sleep 0.3
ok "nohup: HUP and INT change nothing" is_held k
kill -TERM $holder
ended $holder
is "$status" 143 "  TERM does"

# Something that the script started before it became `run` is not ours to end.
bg bash -c 'sleep 63 & echo $! >'"$dir"'/before
    exec "$LEASEHOLD" run k sleep 150'
holder=$pid
until_true 5000 is_held k
mind "$(cat "$dir/before")"
kill -TERM "$holder"
ended "$holder"
is "$status" 143 "exec leasehold run: TERM"
ok "  spares what was there before" kill -0 "$(cat "$dir/before")"
kill -KILL "$(cat "$dir/before")"

# Stop and continue, in time and without a terminal.
bg "$LEASEHOLD" run --ttl 20s k sleep 150
holder=$pid
until_true 5000 is_held k
begun "$holder"
kill -TSTP "$holder"
ok "TSTP stops the command" until_true 5000 is_stopped "$command"
ok "  and us" until_true 5000 is_stopped "$holder"
kill -CONT "$holder"
ok "CONT continues us" until_true 5000 eval "! is_stopped $holder"
ok "  and the command" until_true 5000 eval "! is_stopped $command"
ok "  and it is still held" is_held k
kill -TERM "$holder"
ended "$holder"
is "$status" 143 "  until TERM"

# 40 children of its process that are no part of the command, and 32 descriptors
(
	ulimit -n 32
	for i in {1..40}; do
		sleep 20 &
	done
	exec "$LEASEHOLD" run few sh -c ': >"$1"; sleep 50 & echo $! >"$2"; wait' \
	    sh "$dir/few" "$dir/child"
) &
few=$!
mind $few
until_true 10000 test -s "$dir/child"
mind "$(cat "$dir/child")"
kill -TERM $few
ended $few
is "$status" 143 "with few descriptors and many other children: ended by TERM"
ok "  and what its command began" until_true 5000 gone "$(cat "$dir/child")"
finish
