#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 C3: `leasehold stats` says how many keys are held, how many processes
# wait, and for how long the oldest of them has waited.
#
# Otherwise a collector of metrics could not tell a table in which somebody is
# stuck from one that is idle.
. "$(dirname "$0")/lib.sh"
table stats-load

lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null
run lh stats
like "$out" "0 of them held, 0 waiting" "an empty table"
bg "$LEASEHOLD" run --ttl 600s k sleep 600
until_true 5000 is_held k

# k is held, somebody waits, and another key is free
bg "$LEASEHOLD" run -w 100s k true
waiter=$pid
until_true 5000 has_waiters k 1
lh run idle true
run lh stats
like "$out" "1 of them held, 1 waiting, the longest for " "held and waited for"
run lh stats --json
is "$(jq -c '[.keys, .held, .waiters, (.longest_wait_ms | type)]' <<<"$out")" \
    '[2,1,1,"string"]' "  as JSON"
waited() {
	[ "$(lh stats --json | jq -r .longest_wait_ms)" -ge 100 ]
}
ok "  the wait grows" until_true 5000 waited
run lh stats --prometheus
ok "  for Prometheus, in seconds" grep -qE \
    "^leasehold_longest_wait_seconds\{table=\"$LEASEHOLD_TABLE\"\} [0-9]+\.[0-9]{6}\$" \
    <<<"$out"
like "$out" "leasehold_keys_held{table=\"$LEASEHOLD_TABLE\"} 1" "  keys held"
like "$out" "leasehold_waiters{table=\"$LEASEHOLD_TABLE\"} 1" "  waiters"
kill -TERM "$waiter"
ended "$waiter"
run lh stats
like "$out" "1 of them held, 0 waiting" "nobody waits any more"
is "$(lh stats --json | jq -r .longest_wait_ms)" 0 "  for no time"
bg "$LEASEHOLD" run -s --ttl 60s read sleep 150
reader=$pid
bg "$LEASEHOLD" run -s --ttl 60s read sleep 150
until_true 5000 has_holders read 2
is "$(lh stats --json | jq .held)" 2 "a key that two share is one key"
slain "$reader"
slain "$pid"
are_held() {
	[ "$(lh stats --json | jq .held)" = "$1" ]
}
is_free read >/dev/null
ok "  and none when they are dead" until_true 5000 are_held 1

# a lease counts to its deadline, also where nobody asks for the key
bg "$LEASEHOLD" run -F --ttl "$(t_ms 2000)ms" due sleep 600
ok "another key is held" until_true 5000 are_held 2
ok "  and no longer when its lease has run out" until_true 20000 are_held 1
finish
