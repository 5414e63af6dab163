#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold convert`: the mode of a lease in a named session changes, and the
# key is held all the time (guarantee G1).
#
# Otherwise another job could acquire the key during the conversion.
. "$(dirname "$0")/lib.sh"
table convert
unset LEASEHOLD_SESSION
none=00000000000100010002000000000001

run lh convert -x k $none 1
is "$status" 76 "convert without a table: 76"
ok "  and makes none" test ! -e "$(object)"

run lh acquire -s --ttl 100s k
read -r id token session <<<"$out"
run lh convert -x k "$id" "$token"
is "$status$err" 0 "to exclusive"
read -r id2 token2 more <<<"$out"
is "${#id2} $more" "32 " "  prints id and token"
ok "  the token is larger" test "$token2" -gt "$token"
is "$(lh status --json k | jq -r '.holders[0] | [.mode, .lease_id, .token] |
    join(" ")')" "exclusive $id2 $token2" "  it is"
run lh convert -x k "$id" "$token"
is "$status" 76 "with the old id and token: 76"
like "$err" "the lease on 'k' is not exclusive" "  says so"
run lh convert -x k "$id2" "$token2"
is "$status $out" "0 $id2 $token2" "to what it is already: the same"
run lh convert --json -s k "$id2" "$token2"
is "$status$(jq -r '[.key, .mode] | join(",")' <<<"$out")" 0k,shared \
    "to shared, as JSON"
id=$(jq -r .lease <<<"$out") token=$(jq -r .token <<<"$out")
is "$(jq -r '[.token, .expires_ms] | map(type) | unique | join(",")' \
    <<<"$out")" string "  numbers of 64 bits are strings"

bg "$LEASEHOLD" run -s --ttl 60s k sleep 150
reader=$pid
until_true 5000 has_holders k 2
run lh convert -x k "$id" "$token"
is "$status" 75 "beside another reader: 75"
run lh convert -x -w 200ms k "$id" "$token"
is "$status" 75 "  also after a while"
between "$took" 200 5000 "  not before"
is "$(lh status --json k | jq -r '[.holders[].lease_id] | index("'"$id"'") !=
    null')" true "  it is as it was"
"$LEASEHOLD" convert -x -w 20s k "$id" "$token" >"$dir/converted" </dev/null \
    3>&- &
converter=$!
mind "$converter"
ok "it waits" until_true 5000 has_waiters k 1
is "$(lh explain --json k | jq -r '.[0].waiters[0].upgrade')" true \
    "  and the message says so"
kill -TERM "$reader"
ended "$converter"
is "$status" 0 "  until the other one ends"
read -r id token <"$dir/converted"
run lh release k "$id" "$token"
is "$status" 0 "the new id and token release it"

bg "$LEASEHOLD" run -s --ttl 60s k sleep 150
until_true 5000 is_held k
read -r id token < <(lh status --json k | jq -r '.holders[0] |
    .lease_id + " " + .token')
run lh convert -x k "$id" "$token"
is "$status" 77 "the lease of a process: 77"

for wrong in "k $none 1" "-x" "-x k" "-x k $none" "-x k $none 1 2" \
    "-x k 12 1" "-x k $none x" "-s -x k $none 1" "-x -w soon k $none 1"; do
	# shellcheck disable=SC2086
	run lh convert $wrong
	is "$status" 64 "convert $wrong: 64"
done

finish
