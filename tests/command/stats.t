#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold stats`: the sizes of a table, and how much of them is used.
#
# Otherwise an operator would learn that a table is full only from failing jobs.
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
is "$(field keys | head -n 1)" "0 of at most 1000" "  keys"
is "$(field sessions | head -n 1)" "0 of at most 16" "  sessions, but its own"
is "$(field order)" bounded "  the order"
is "$(field clock)" monotonic "  the clock"
is "$(field damaged)" "no damage has been seen" "  damage"

bg "$LEASEHOLD" run --ttl 60s k sleep 150
until_true 5000 is_held k
run lh stats
is "$(field keys | head -n 1)" "1 of at most 1000" "one key"
is "$(field sessions | head -n 1)" "1 of at most 16" "of one process"
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


# Counters: events are counted, in all three forms.
lh run -n k true 2>/dev/null
is $? 75 "a try that fails"
lh run free true
run lh stats
is "$(field acquired)" \
    "2 times, 0 of them shared, 0 before somebody who waited" "acquired"
like "$(field failed)" "1 found it busy, 0 timed out, 0" "failed"
like "$out" "2 made, 0 forgotten" "keys made"
run lh stats --json
is "$(jq -c '.counters | [.acquired, .shared, .busy, .keys_made]' <<<"$out")" \
    '["2","0","1","2"]' "the same as JSON"
is "$(jq -c '.counters.wait | [length, .[0].below_us, .[19].below_us]' \
    <<<"$out")" '[20,"8",null]' "classes of waits, the last without a bound"
is "$(jq '.counters | has("hold")' <<<"$out")" false "no hold times"
run lh stats --json --sessions
is "$(jq -c '.by_session | map([.counters.acquired, .dead])' <<<"$out")" \
    '[["1",false]]' "the one session, without the question's own"
is "$(jq -r '.by_session[0].pid' <<<"$out")" "$!" "  and whose it is"
run lh stats --sessions
like "$out" "sleep[$!]: attached for" "in words"
run lh stats --prometheus
is "$status" 0 "stats --prometheus: 0"
has() {
	ok "  $1" grep -qxF "leasehold_${1/@/table=\"$LEASEHOLD_TABLE\"}" \
	    <<<"$out"
}
has 'acquisitions_total{@} 2'
has 'failures_total{@,reason="busy"} 1'
has 'lost_total{@,reason="expired",by="another"} 0'
has 'keys{@} 2'
has 'keys_max{@} 1000'
has 'wait_seconds_bucket{@,le="0.000008"} 0'
has 'wait_seconds_bucket{@,le="+Inf"} 0'
has 'wait_seconds_sum{@} 0.000000'
has 'wait_seconds_count{@} 0'
is "$(grep -vcE '^(# (HELP|TYPE) leasehold_[a-z_]+ .+|leasehold_[a-z_]+\{table="[^"]+"(,[a-z]+="[^"]*")*\} [0-9]+(\.[0-9]+)?)$' \
    <<<"$out")" 0 "  every line is one of the format's"
is "$(grep -o '^# TYPE [a-z_]*' <<<"$out" | sort | uniq -d)" "" \
    "  no metric twice"
run lh stats --prometheus --json
is "$status" 64 "two formats at once: 64"

# Hold times, on request only.
hold=$LEASEHOLD_TABLE.hold
tables+=("$hold")
lh init --table "$hold" --hold-times >/dev/null
lh run --table "$hold" k sleep 0.05
lh run --table "$hold" -s k true
run lh stats --table "$hold"
like "$(field held)" "on average" "held: told"
run lh stats --table "$hold" --json
is "$(jq -r .counters.held <<<"$out")" 2 "  two leases"
ok "  together as long as they were" test \
    "$(jq -r .counters.hold_us <<<"$out")" -ge 40000
is "$(jq -r '.counters.hold | map(.count | tonumber) | add' <<<"$out")" 2 \
    "  in classes"

# The command does not count the session that it has itself.
lh run --table "$hold" k true
run lh stats --table "$hold" --json
is "$(jq -c '[.sessions, .deaths_told]' <<<"$out")" "[0,0]" \
    "no session: the kernel reports no death"

run lh stats x
is "$status" 64 "an argument too many: 64"
run lh stats --nonsense
is "$status" 64 "an option that is none: 64"

finish
