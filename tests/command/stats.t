#!/bin/bash
# SPDX-License-Identifier: MIT
# `stats`: a table's sizes and how far it is filled.
. "$(dirname "$0")/lib.sh"
table stats

run lh stats
is "$status" 1 "stats without a table: 1"
like "$err" "there is no table '$LEASEHOLD_TABLE'" "  says so"
ok "  and makes none" test ! -e "$(object)"

lh init --keys 1000 --sessions 16 --leases 1024 >/dev/null
field() {
	sed -n "s/^$1 *//p" <<<"$out"
}
run lh stats
is "$status" 0 "stats: 0"
is "$(field table)" "$LEASEHOLD_TABLE" "  the table"
is "$(field keys)" "0 of at most 1000" "  keys"
is "$(field sessions)" "0 of at most 16" "  sessions, but its own"
is "$(field order)" bounded "  the order"
is "$(field clock)" monotonic "  the clock"
is "$(field damaged)" "no damage has been seen" "  damage"

bg "$LEASEHOLD" run --ttl 60s k sleep 60
until_true 5000 is_held k
run lh stats
is "$(field keys)" "1 of at most 1000" "one key"
is "$(field sessions)" "1 of at most 16" "of one process"
is "$(field leases)" \
    "64 of at most 1024 reserved by sessions, 64 at a time" "and its leases"
run lh stats --json
is "$status" 0 "stats --json: 0"
is "$(jq -c '[.table, .keys, .max_keys, .sessions, .max_sessions,
    .leases_reserved, .max_leases, .order, .damaged]' <<<"$out")" \
    "[\"$LEASEHOLD_TABLE\",1,1000,1,16,64,1024,\"bounded\",false]" \
    "  the same"
is "$(jq -c '[.bytes, .bytes_used, .token_base, .token_ceiling] |
    map(type) | unique' <<<"$out")" '["string"]' "  64 bits are strings"
is "$(jq -r .bytes <<<"$out")" "$(stat -c %s "$(object)")" "  its size"
is "$(jq -r .bytes_used <<<"$out")" \
    $(($(stat -c %b "$(object)") * 512)) "  what it takes of it"

run lh stats x
is "$status" 64 "an argument too many: 64"
run lh stats --nonsense
is "$status" 64 "an option that is none: 64"

finish
