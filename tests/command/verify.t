#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G11, `leasehold verify`: whether a token belongs to a present lease.
#
# Otherwise a script would accept a request of a lost lease.
. "$(dirname "$0")/lib.sh"
table verify

run lh verify k 1
is "$status" 1 "verify without a table: 1"
like "$err" "no table '$LEASEHOLD_TABLE'" "  says so"
ok "  and makes none" test ! -e "$(object)"

bg "$LEASEHOLD" run --ttl 60s k sleep 150
holder=$pid
until_true 5000 is_held k
token=$(lh status --json k | jq -r .token)
run lh verify k "$token"
is "$status$out$err" 0 "the holder's token: 0, without a word"
run lh verify k $((token + 1))
is "$status" 1 "the next one: 1"
like "$err" "is not that of a present lease" "  says so"
run lh verify k $((token - 1))
is "$status" 1 "the one before: 1"
run lh verify unknown "$token"
is "$status" 1 "of an unknown key: 1"
kill -KILL "$holder"
ended "$holder"
until_true 5000 is_free k
run lh verify k "$token"
is "$status" 1 "when its holder is dead: 1"

bg "$LEASEHOLD" run -s --ttl 60s k sleep 150
bg "$LEASEHOLD" run -s --ttl 60s k sleep 150
until_true 5000 has_holders k 2
for t in $(lh status --json k | jq -r '.holders[].token'); do
	run lh verify k "$t"
	is "$status" 0 "a reader's: 0"
done
lh run free true
run lh verify free "$(lh status --json free | jq -r .token)"
is "$status" 1 "the last one of a free key: 1"
lh run --ttl 60s inside sh -c '"$LEASEHOLD" verify "$LEASEHOLD_KEY" \
    "$LEASEHOLD_FENCE"'
is $? 0 "what a command under run knows"

run lh verify
is "$status" 64 "nothing: 64"
run lh verify k
is "$status" 64 "no token: 64"
run lh verify k 1 2
is "$status" 64 "two: 64"
run lh verify "" 1
is "$status" 64 "an empty key: 64"
run lh verify k 0
is "$status" 64 "token 0: 64"
run lh verify k 9223372036854775808
is "$status" 64 "token 2^63: 64"
run lh verify k x
is "$status" 64 "a token that is no number: 64"
run lh verify --json k 1
is "$status" 64 "--json: 64"
like "$err" "prints nothing" "  says why"

finish
