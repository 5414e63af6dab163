#!/bin/bash
# SPDX-License-Identifier: MIT
# `--quiet`: for a busy, timed-out or refused key the exit status is the only
# answer; an error still has its line.  `-n` together with `-w` does not wait,
# as in flock(1).
#
# Otherwise cron would mail each busy key, or hide each error.
. "$(dirname "$0")/lib.sh"
table quiet
bg "$LEASEHOLD" run k sleep 100
ok "  k is held" until_true 5000 is_held k

# says STATUS LINES NAME COMMAND...: the exit status, and lines on standard error
says() {
	local want=$1 lines=$2 name=$3

	shift 3
	run "$@"
	is "$status" "$want" "$name: $want"
	is "$(wc -l <"$dir/err")" "$lines" "  and $lines lines"
	is "$out" "" "  and no answer"
}

says 75 1 "run, busy" lh run -n k true
says 75 0 "run -q, busy" lh run -qn k true
says 75 0 "run --quiet, not free in time" lh run --quiet -w 20ms k true
says 9 0 "run -q -E 9" lh run -q -n -E 9 k true
says 75 1 "acquire, busy" lh acquire -n k
says 75 0 "acquire -q, busy" lh acquire -qn k
says 75 0 "acquire -q, not free in time" lh acquire -q -w 20ms k
says 9 0 "acquire -q -E 9" lh acquire -q -n -E 9 k
says 75 0 "acquire -q, one of two busy" lh acquire -q -n j,k
run lh status j
is "$status" 1 "  and the other one is free"

says 64 1 "run -q, an error" lh run -q --ttl soon k true
says 127 1 "run -q, no such command" lh run -q -n free /no/such/command
says 64 1 "acquire -q, an error" lh acquire -q --ttl soon k
says 76 1 "acquire -q, no such session" lh acquire -q --session none j

bg "$LEASEHOLD" run --permits 1 s sleep 100
until_true 5000 sh -c "$LEASEHOLD sem status s | grep -q '1 of 1'"
says 75 0 "sem run -q, busy" lh sem run -q -n --permits 1 s true
says 75 1 "sem destroy, in use" lh sem destroy s
says 75 0 "sem destroy -q, in use" lh sem destroy -q s
says 1 1 "sem status -q of none" lh sem status -q none

lh gate "$dir/gate" 10
says 1 1 "gate, refused" lh gate "$dir/gate" 9
says 1 0 "gate -q, refused" lh gate -q "$dir/gate" 9
says 0 0 "gate -q, passes" lh gate -q "$dir/gate" 10
says 1 1 "gate -q, no such gate" lh gate -q --no-create "$dir/none" 10

# shellcheck disable=SC2016
nested='"$LEASEHOLD" run -q "$@" n true'
says 75 0 "run -qn of a key that our own run holds" lh run n sh -c "$nested" sh -n
says 75 1 "the same, waiting: a deadlock is an error" \
    lh run n sh -c "$nested" sh -w 1m

in_time 3000 run lh run -n -w 1m k true
is "$status" 75 "-n -w 1m: busy"
ok "  at once" test "$took" -le 3000
in_time 3000 run lh acquire -w 1m -n k
is "$status" 75 "acquire -w 1m -n: busy"
ok "  at once" test "$took" -le 3000

run lh acquire -v -n k
is "$status" 75 "acquire -v -n, busy: 75"
like "$err" "'k'" "  and why"
run lh acquire -v -w 20ms k
is "$status" 75 "acquire -v -w, busy: 75"
like "$err" "waiting: key 'k' is held by" "  says whom it waits for"
run lh acquire -v j
is "$status" 0 "acquire -v, free: 0"
like "$err" "acquired 'j' (exclusive) after" "  says so"
is "$(wc -w <<<"$out")" 3 "  and the answer is as ever"

finish
