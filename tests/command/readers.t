#!/bin/bash
# SPDX-License-Identifier: MIT
# The output of `list` and `status` for a key with several readers.
#
# Otherwise an operator would see one reader of many.
. "$(dirname "$0")/lib.sh"
table readers

lh run free true
readers=()
for i in 1 2 3; do
	bg "$LEASEHOLD" run -s --ttl "$((50 + i))s" k sleep 150
	readers+=("$pid")
	until_true 5000 has_holders k $i || diag "no $i readers"
done
bg "$LEASEHOLD" run --priority 0 k true
writer=$pid
until_true 5000 has_waiters k 1
bg "$LEASEHOLD" run -s k true
behind=$pid
until_true 5000 has_waiters k 2
all=$(printf '%s\n' "${readers[@]}" | sort -n | paste -sd,)

# status, for people
run lh status k
is "$status" 0 "status of a shared key: 0"
field() {
	sed -n "s/^$1  *//p" <<<"$out"
}
is "$(field state)/$(field mode)/$(field holders)/$(field waiters)" \
    held/shared/3/2 "  how many hold it and wait"
for p in "${readers[@]}"; do
	ok "  reader $p has a line" grep -qE "^ +sleep\[$p\], uid \
$(id -u), shared, for [0-9.]+ s, [0-9.]+ s left, lease [0-9a-f]{32}, token [0-9]+$" "$dir/out"
done
is "$(sed -n '/^waiters/,$p' <<<"$out" | sed 's/, waiting.*//; s/^ *//' |
    paste -sd/)" \
    "waiters  2/1   true[$writer], uid $(id -u), exclusive, priority 0/2   true[$behind], uid $(id -u), shared, priority 0" \
    "  who waits, in order, and for what"

# status --json
run lh status --json k
is "$(jq -c '[.state, .mode, (.holders | length), (.waiters | length)]' \
    <<<"$out")" '["held","shared",3,2]' "status --json: how many"
is "$(jq -r '[.holders[].pid] | sort | join(",")' <<<"$out")" "$all" \
    "  all holders"
is "$(jq -r '[.holders[].mode] | unique | join(",")' <<<"$out")" shared \
    "  their mode"
is "$(jq -r '[.holders[].lease_id] | unique | length' <<<"$out")" 3 \
    "  each has its own lease"
is "$(jq -r '[.holders[] | .expires_ms, .since_ms | type] | unique |
    join(",")' <<<"$out")" string "  its own times, as strings"
is "$(jq -c '[.waiters[] | [.rank, .pid, .mode, .priority]]' <<<"$out")" \
    "[[1,$writer,\"exclusive\",0],[2,$behind,\"shared\",0]]" \
    "  the writer is next, then the reader"
token=$(jq -r .token <<<"$out")
ok "  the token is a decimal string" grep -qx '"[1-9][0-9]*"' \
    <<<"$(jq .token <<<"$out")"
is "$(jq -r '[.holders[].token | type] | unique | join(",")' <<<"$out")" \
    string "  and so is each holder's"
is "$(jq -r '[.holders[].token] | max_by(tonumber)' <<<"$out")" "$token" \
    "  the key's is the largest of theirs"
is "$(jq -c '[.waiters[] | has("token")] | unique' <<<"$out")" '[false]' \
    "  who waits has none"

# list
run lh list
line=$(grep '^k ' <<<"$out")
is "$(awk '{print $2, $3, $4, $5, $(NF - 1)}' <<<"$line")" \
    "shared $token 3 readers 2" "list: one line for the key"
is "$(grep -c '^  holder ' <<<"$out")" 3 "  below it one for each reader"
is "$(awk '$1 == "holder" {print $2, $4}' <<<"$out" | sort | paste -sd,)" \
    "$(printf 'shared sleep[%d]\n' "${readers[@]}" | sort | paste -sd,)" \
    "  its mode and name"
is "$(awk '$1 == "waiter" {print $2, $3, $5, $NF}' <<<"$out" | paste -sd,)" \
    "1 exclusive true[$writer] 0,2 shared true[$behind] 0" \
    "  and one for each waiter, in order, its mode and priority"
is "$(awk '{print length}' "$dir/out" | sort -u | wc -l)" 1 "  aligned"
is "$(grep -c '^free ' <<<"$out")" 1 "  other keys have theirs"
is "$(lh list f | wc -l)" 2 "  a prefix leaves the rest out"
run lh list --json
is "$(jq -c '.[] | select(.key == "k") | [(.holders | length),
    [.waiters[].rank]]' <<<"$out")" '[3,[1,2]]' "list --json: all of them, too"

# A killed reader is not shown.
kill -KILL "${readers[1]}"
ended "${readers[1]}"
ok "a killed reader vanishes" until_true 5000 has_holders k 2
is "$(lh status --json k | jq -r '[.holders[].pid] | sort | join(",")')" \
    "$(printf '%s\n' "${readers[0]}" "${readers[2]}" | sort -n | paste -sd,)" \
    "  the others stay"
is "$(lh list k | awk '$1 == "k" {print $4, $5}')" "2 readers" \
    "  also in the list"
is "$(waiters k)" 2 "  and those who wait wait on"

# One reader alone is shown as a writer is.
kill -KILL "${readers[0]}"
until_true 5000 has_holders k 1
run lh list k
is "$(awk '$1 == "k" {print $2, $4}' <<<"$out")" "shared sleep[${readers[2]}]" \
    "one reader: named in the key's line"
is "$(grep -c '^  holder' <<<"$out")" 0 "  which is enough"
run lh status k
is "$(field holder)/$(field mode)" \
    "sleep[${readers[2]}], uid $(id -u)/shared" "status: the one holder"
kill -KILL "${readers[2]}"
ended "$writer"
ended "$behind"
run lh status k
is "$status" 1 "all have gone: free"

# Many.
for i in {1..40}; do
	bg "$LEASEHOLD" run -s --ttl 60s many sleep 150
done
ok "forty readers" until_true 20000 has_holders many 40
is "$(lh list many | grep -c '^  holder ')" 40 "  forty lines in the list"
is "$(lh status many | grep -c ' shared, for ')" 40 "  and in the status"
is "$(lh status --json many | jq '[.holders[].pid] | unique | length')" 40 \
    "  and all in JSON"

finish
