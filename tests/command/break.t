#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold break` ends somebody else's lease, and prints whose it was
# (guarantee G9).
#
# Otherwise an operator could not end a stuck job's lease, or would not know
# whose it was.
. "$(dirname "$0")/lib.sh"
table break

run lh break k
is "$status" 1 "break without a table: 1"
ok "  and makes none" test ! -e "$(object)"

bg bash -c 'exec "$LEASEHOLD" run --ttl 60s k sleep 150 2>"$0"' "$dir/lost"
holder=$pid
until_true 5000 is_held k
begun "$holder"
token=$(lh status --json k | jq -r .token)
bg bash -c '"$LEASEHOLD" run -w 150s k true; echo $? >"$0"' "$dir/waited"
until_true 5000 has_waiters k 1
run lh break k
is "$status" 0 "break of a held key: 0"
like "$out" "k: sleep[$holder], exclusive, token $token, held for" \
    "  tells whose it was"
until_true 5000 test -s "$dir/waited"
is "$(cat "$dir/waited")" 0 "  who waited has had it"
ended "$holder"
is "$status" 76 "  the holder's command is ended: 76"
like "$(cat "$dir/lost")" "broken" "  and it says why"
run lh break k
is "$status" 1 "break of a free key: 1"
like "$err" "nobody holds 'k'" "  says so"
run lh break other
is "$status" 1 "break of an unknown key: 1"

# One of two readers.
bg "$LEASEHOLD" run -s --ttl 60s r sleep 150
first=$pid
until_true 5000 is_held r
bg "$LEASEHOLD" run -s --ttl 60s r sleep 150
second=$pid
holders() {
	lh status --json r | jq '.holders | length'
}
until_true 5000 eval '[ "$(holders)" = 2 ]'
id=$(lh status --json r | jq -r ".holders[] | select(.pid == $first) | .lease_id")
run lh break --json --lease "$id" r
is "$status" 0 "break of one of two readers: 0"
is "$(jq '.holders | length' <<<"$out")" 2 "  the key as it was"
ended "$first"
is "$status" 76 "  that one is ended"
is "$(lh status --json r | jq ".holders[0].pid")" "$second" \
    "  the other one is not"
run lh break --lease "$id" r
is "$status" 1 "the same once more: 1"
like "$err" "that lease does not hold 'r'" "  says so"
run lh break r
is "$status" 0 "break of all of them: 0"
ended "$second"
is "$status" 76 "  the other one is ended, too"

bad() {	# bad MESSAGE ARGUMENT...
	local message=$1

	shift
	run lh break "$@"
	is "$status" 64 "break $*: 64"
	like "$err" "$message" "  says: $message"
}
bad "break takes one key"
bad "break takes one key" a b
bad "is not 32 hexadecimal digits" --lease 12 k
bad "is not 32 hexadecimal digits" \
    --lease 0123456789abcdef0123456789abcdeg k
bad "the key is empty" ""
bad "'break' has no option '--force'" --force k

finish
