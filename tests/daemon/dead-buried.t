#!/bin/bash
# SPDX-License-Identifier: MIT
# The reaper frees the session of a dead process with all that it held and
# waited for, though nobody asks.  A descendant that kept the liveness descriptor
# keeps the session alive.
. "$(dirname "$0")/lib.sh"
table dead
reaperd
served

# A holder with a waiter, a reader, and one that only waits.
bg "$LEASEHOLD" run -F --ttl 60s a sleep 60
holder=$pid
until_true 5000 state_is a held
bg "$LEASEHOLD" run -F --ttl 60s a sleep 60
waiter=$pid
bg "$LEASEHOLD" run -s -F --ttl 60s b sleep 60
reader=$pid
ok "three sessions" until_true 5000 sessions_are 3
until_true 5000 has_waiters a 1
kill -KILL "$waiter"
ended "$waiter"
ok "a dead waiter is buried" until_true 2000 sessions_are 2
is "$(state a)" held "  the holder holds"
kill -KILL "$reader"
ended "$reader"
ok "a dead reader is" until_true 2000 sessions_are 1
is "$(state b)" free "  the key is free"
kill -KILL "$holder"
ended "$holder"
ok "the dead holder is" until_true 2000 sessions_are 0
is "$(state a)" free "  the key is free"

# Many at once.
pids=()
for i in {1..30}; do
	bg "$LEASEHOLD" run -F --ttl 60s "many$i" sleep 60
	pids+=("$pid")
done
ok "thirty" until_true 10000 sessions_are 30
kill -KILL "${pids[@]}"
ok "  are buried" until_true 3000 sessions_are 0
is "$(metric leasehold_reaper_buried_total)" 33 "  and counted"

# The liveness descriptor, inherited: the process is dead, its session is not.
descendant() {
	rm -f "$dir/grandchild"
	bg "$LEASEHOLD" run --ttl "$(t_ms 3000)ms" k bash -c \
	    "sleep 61 & echo \$! >$dir/grandchild; wait"
	until_true 5000 test -s "$dir/grandchild"
	grandchild=$(cat "$dir/grandchild")
	mind "$grandchild"
	killed=$(now_ms)
	kill -KILL "$pid"
	ended "$pid"
	sleep 0.3
	held=$(state k)
	took=$(($(now_ms) - killed))
}
# by the deadline, which is renewed each second, it is over: look before that
for i in 1 2 3; do
	descendant
	[ "$held" = held ] || [ $took -lt "$(t_ms 1500)" ] && break
	kill -KILL "$grandchild"
	until_true 5000 sessions_are 0
done
is "$held" held "a descendant keeps the key"
ok "  to the deadline" until_true 6000 state_is k free
kill -KILL "$grandchild"
ok "  and the session to its own end" until_true 2000 sessions_are 0
run lh fsck
is "$status" 0 "the table is sound"

finish
