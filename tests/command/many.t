#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G8: several keys for one command: all or none, in any order; each
# with its own token; and the loss of one is the loss of all.
#
# Otherwise a job would run with half of its keys.
. "$(dirname "$0")/lib.sh"
table many

# count KEY...: leases on them, also on those that the table does not know
count() {
	local k n=0 all=0

	for k; do
		n=$(lh list --json | jq "[.[] | select(.key == \"$k\") |
		    .holders | length] | add // 0")
		all=$((all + n))
	done
	echo "$all"
}
are_held() {	# are_held N KEY...
	local want=$1

	shift
	[ "$(count "$@")" = "$want" ]
}

# shellcheck disable=SC2016
run lh run z,a,m sh -c 'echo "$LEASEHOLD_KEY $LEASEHOLD_MODE"
    echo "$LEASEHOLD_FENCE" | tr , "\n" >'"$dir/tokens"'
    echo "$LEASEHOLD_LEASE_ID" | tr , "\n" >'"$dir/ids"'
    echo "$LEASEHOLD_HELD" >'"$dir/held"'
    echo "$LEASEHOLD_EXPIRES_MS" >'"$dir/ends"'
    for k in z a m; do "$LEASEHOLD" status --json $k; done |
    jq -r ".holders[0] | .token, .lease_id" >'"$dir/told"
is "$status" 0 "three keys: 0"
is "$out" "z,a,m exclusive" "  named as they were given"
is "$(paste -d '\n' "$dir/tokens" "$dir/ids")" "$(cat "$dir/told")" \
    "  their tokens and leases, in that order"
is "$(cat "$dir/held")" "$LEASEHOLD_TABLE:z=$(sed -n 1p "$dir/ids"),$(
    )$LEASEHOLD_TABLE:a=$(sed -n 2p "$dir/ids"),$(
    )$LEASEHOLD_TABLE:m=$(sed -n 3p "$dir/ids")" "  and what is held"
between "$(cat "$dir/ends")" "$(($(now_ms) + 15000))" \
    "$(($(now_ms) + 31000))" "  and their deadline"
is "$(count z a m)" 0 "  all are free afterwards"
run lh run -v z,a true
like "$err" "holding 'z,a' (exclusive) with token " "  -v says so"
like "$err" "released 'z,a'" "  and when they are released"
run lh run "$(seq -s, 64)" echo many
is "$status/$out" 0/many "64 keys"

# All or none.
bg "$LEASEHOLD" run m sleep 150
holder=$pid
until_true 5000 is_held m
run lh run -n z,a,m touch "$dir/ran"
is "$status" 75 "one is busy: 75"
like "$err" "key 'm'" "  says which"
is "$(count z a)" 0 "  the others are free"
in_time $((300 + $(t_ms 1500))) run lh run -w 300ms z,a,m touch "$dir/ran"
is "$status" 75 "one is busy for too long: 75"
between "$took" 300 "$((300 + $(t_ms 1500)))" "  in time"
ok "  nothing was run" test ! -e "$dir/ran"
bg "$LEASEHOLD" run -v -w 150s --ttl "$(t_ms 3000)ms" z,a,m touch "$dir/ran" \
    2>"$dir/log"
waiter=$pid
until_true 5000 has_waiters m 1
ok "it waits for one, and holds the one before it" are_held 1 a z
nap "$(t_ms 7500)"
ok "  for longer than its ttl" are_held 1 a z
like "$(cat "$dir/log")" "waiting for 'm' (exclusive): held by" "  -v says so"
kill -TERM "$waiter"
ended "$waiter"
is "$status" 143 "  a signal ends the wait"
is "$(count z a)" 0 "  and all are free"
killed() {
	bg "$LEASEHOLD" run -w 150s z,a,m touch "$dir/ran"
	waiter=$pid
	until_true 5000 has_waiters m 1
	kill -KILL "$waiter"
	ended "$waiter"
	run lh run -w 20s a true
	is "$status" 0 "killed while it waits: others get what it had"
}
in_time "$(t_ms 2000)" killed
between "$took" 0 "$(t_ms 2000)" "  soon"
bg "$LEASEHOLD" run -w 150s z,a,m touch "$dir/ran"
waiter=$pid
until_true 5000 has_waiters m 1
ok "nothing has been run" test ! -e "$dir/ran"
kill -TERM "$holder"
ended "$waiter"
is "$status" 0 "the last is free: 0"
ok "  and it is run" test -e "$dir/ran"

# Two that are given the same keys in two orders.
for i in 1 2 3 4 5 6; do
	bg "$LEASEHOLD" run -w 20s p,q,r sleep 0.05
	one=$pid
	bg "$LEASEHOLD" run -w 20s r,q,p sleep 0.05
	ended "$one"
	first=$status
	ended "$pid"
	[ "$first$status" = 00 ] || break
done
is "$i$first$status" 600 "opposite orders never wait for each other"

# Shared.
bg "$LEASEHOLD" run -s a,b sleep 150
holder=$pid
until_true 5000 are_held 2 a b
run lh run -n -s b,c echo shared
is "$status/$out" 0/shared "-s is for all of them"
run lh run -n b,c true
is "$status" 75 "  and -x, too"
kill -TERM "$holder"
ended "$holder"

# One in the other.
run lh run a,b "$LEASEHOLD" run c,d echo nested
is "$status/$out" 0/nested "others inside"
in_time "$(t_ms 2000)" \
    run lh run a,b "$LEASEHOLD" run -w 30s c,b touch "$dir/inner"
is "$status" 75 "one of them inside: 75"
between "$took" 0 "$(t_ms 2000)" "  at once"
like "$err" "'b' is held (exclusive) by the command" "  says which"
ok "  nothing was run" test ! -e "$dir/inner"
run lh run -s a,b "$LEASEHOLD" run -s b,c echo both
is "$status/$out" 0/both "shared inside shared"
bg "$LEASEHOLD" run -s a,b sh -c "until [ -e '$dir/go' ]; do sleep 0.05; done
    \"\$LEASEHOLD\" run -s -w 30s b,c echo inner" >"$dir/out"
outer=$pid
until_true 5000 are_held 2 a b
bg "$LEASEHOLD" run -w 150s b true
writer=$pid
until_true 5000 has_waiters b 1
touch "$dir/go"
ended "$outer"
is "$status/$(cat "$dir/out")" 0/inner "  past a writer that waits"
ended "$writer"
is "$status" 0 "  which is served then"

# The loss of one is the loss of all.
bg "$LEASEHOLD" run --ttl 20s a,b,c sleep 150 2>"$dir/log"
holder=$pid
begun "$holder"
until_true 5000 are_held 3 a b c
lh break b >/dev/null
ended "$holder"
is "$status" 76 "one is broken: 76"
like "$(cat "$dir/log")" "the lease on 'b' is lost: it was broken" "  says it"
is "$(count a b c)" 0 "  all are free"
bg "$LEASEHOLD" run --ttl 20s --on-loss warn a,b,c sleep 150 2>"$dir/log"
holder=$pid
begun "$holder"
until_true 5000 are_held 3 a b c
lh break b >/dev/null
ok "--on-loss warn: the others are free at once" \
    until_true 5000 are_held 0 a b c
like "$(cat "$dir/log")" "goes on without it" "  says so"
ok "  the command goes on" kill -0 "$holder"
kill -TERM "$holder"
ended "$holder"
is "$status" 76 "  76 at its end"

# -F: to the deadlines, with what is in it.
bg "$LEASEHOLD" run -F --ttl 60s a,b sleep 150
holder=$pid
until_true 5000 are_held 2 a b
kill -KILL "$holder"
ended "$holder"
run lh run -w 20s b,a true
is "$status" 0 "-F: freed with the command"

run lh fsck
is "$status" 0 "the table is sound"
finish
