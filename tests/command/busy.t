#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G8, timing T4: a key that somebody else holds: the message names the
# holder, waits end in time and never early, and a waiter gets the key when it
# is free.
#
# Otherwise a script would not know why it failed, or would run beside the
# holder.
. "$(dirname "$0")/lib.sh"
table busy

hold() {	# hold KEY: until $holder is killed
	bg "$LEASEHOLD" run "$1" sleep 150
	holder=$pid
	until_true 5000 is_held "$1" || diag "nobody holds $1"
}

hold k
in_time "$(t_ms 1000)" run lh run -n k touch "$dir/ran"
is "$status" 75 "a try: 75"
between "$took" 0 "$(t_ms 1000)" "  at once"
like "$err" "process $holder (sleep)" "  names the holder"
like "$err" "'k'" "  and the key"
like "$err" "no exclusive lease: " "  and what was asked for"
is "$(wc -l <"$dir/err")" 1 "  in one line"

for t in 300ms 1.2s; do
	ms=${t/1.2s/1200}
	ms=${ms%ms}
	in_time $((ms + $(t_ms 500))) run lh run -w "$t" k touch "$dir/ran"
	is "$status" 75 "-w $t: 75"
	between "$took" "$ms" $((ms + $(t_ms 500))) \
	    "  never before $t, and soon after"
	like "$err" "process $holder (sleep)" "  names the holder"
	is "$(waiters k)" 0 "  leaves no waiter behind"
done
ok "the command was never run" test ! -e "$dir/ran"
bg "$LEASEHOLD" run -w 150s --verbose k true 2>"$dir/log"
until_true 5000 grep -q waiting "$dir/log"
like "$(cat "$dir/log")" \
    "waiting for 'k' (exclusive): held by sleep[$holder] for" \
    "-v says who is waited for"
like "$(cat "$dir/log")" "1 of 1 in line" "  and where we stand"
kill -TERM "$pid"
ended "$pid"
run lh run -n other true
is "$status" 0 "another key is not concerned"

# -v, and the thread that waits is late: nothing is said before it is in line.
run strace -f -o /dev/null -e inject=set_robust_list:delay_enter=300000 \
    "$LEASEHOLD" run -v -w 3s k true
like "$err" "1 of 1 in line" "-v says where we stand when we do"

# A wait that is granted.
granted() {
	is_held k || hold k
	(until_true 5000 has_waiters k 1; sleep 0.3; now_ms >"$dir/freed"
	    kill -TERM "$holder") 3>&- &
	mind $!
	run lh run -v -w 20s k echo done
	took=$(($(now_ms) - $(cat "$dir/freed")))
}
in_time "$(t_ms 1500)" granted
is "$status/$out" 0/done "waits until it is free"
between "$took" 0 "$(t_ms 1500)" "  and no longer"
like "$err" "holding 'k' (exclusive) with token" "  -v says that it is ours"
like "$err" "released 'k'" "  and that it is free again"

# The holder is killed: freed without a wait for its deadline.
hold k
bg "$LEASEHOLD" run -v -w 150s k sh -c "echo mine >$dir/mine" 2>"$dir/log"
waiter=$pid
until_true 5000 has_waiters k 1
kill -KILL "$holder"
ended "$waiter"
is "$status" 0 "the holder is killed: the waiter gets it"
ok "  it ran" test -s "$dir/mine"
like "$(cat "$dir/log")" "the holder before us died" "  -v says so"

# Order: first come first served, higher priority first.
hold k
: >"$dir/order"
n=0
for w in "0 a" "0 b" "5 c" "0 d" "7 e" "5 f"; do
	# shellcheck disable=SC2086
	set -- $w
	bg "$LEASEHOLD" run --priority "$1" k sh -c "echo $2 >>$dir/order"
	n=$((n + 1))
	until_true 5000 has_waiters k $n || diag "no $n waiters"
done
is "$(lh status --json k | jq -r '[.waiters[].rank] | join(",")')" \
    1,2,3,4,5,6 "six wait in line"
kill -TERM "$holder"
until_true 10000 eval '[ "$(wc -l <"$dir/order")" = 6 ]'
is "$(tr -d '\n' <"$dir/order")" ecfabd \
    "served by priority, then in the order of coming"

# Exclusion: many at once, each does something that is not atomic.
echo 0 >"$dir/count"
pids=()
for _ in 1 2 3 4 5 6 7 8; do
	bg bash -c 'for i in 1 2 3 4 5; do
		"$LEASEHOLD" run count sh -c "
		    n=\$(cat $0/count); echo \$((n + 1)) >$0/count" || exit 1
	done' "$dir"
	pids+=("$pid")
done
for p in "${pids[@]}"; do
	ended "$p"
	[ "$status" = 0 ] || diag "a counter ended with $status"
done
is "$(cat "$dir/count")" 40 "40 turns of 8 processes, none lost"

finish
