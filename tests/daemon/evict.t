#!/bin/bash
# SPDX-License-Identifier: MIT
# evict_idle and evict_above: idle keys are forgotten, when that is wanted, and
# others are not.
. "$(dirname "$0")/lib.sh"
table evict

keys() {
	lh dump --json | jq -r '[.keys[].key] | sort | join(" ")'
}

keys_are() {
	[ "$(keys)" = "$1" ]
}

lh init --keys 10 --sessions 16 --leases 1024 >/dev/null
lh run --ttl 60s idle true
bg "$LEASEHOLD" run --ttl 60s held sleep 60
until_true 5000 state_is held held
reaperd
settle
is "$(keys)" "held idle" "by default nothing is forgotten"
kill -TERM "$daemon"
ended "$daemon"

LEASEHOLD_REAPERD_EVICT_IDLE=200ms reaperd
ok "an idle key is forgotten" until_true 10000 keys_are held
settle
is "$(keys)" held "one that is held is not"
ok "counted" until_true 2000 metric_is leasehold_reaper_evicted_total 1
kill -TERM "$daemon"
ended "$daemon"

export LEASEHOLD_REAPERD_EVICT_IDLE=200ms
LEASEHOLD_REAPERD_EVICT_ABOVE=50% reaperd
for k in a b; do
	lh run --ttl 60s $k true
done
sleep 1
is "$(keys)" "a b held" "few keys: none is forgotten"
for k in c d e f g; do
	lh run --ttl 60s $k true
done
few() {
	[ "$(wc -w <<<"$(keys)")" -le 5 ]
}
ok "many: some are" until_true 10000 few
is "$(state held)" held "  one that is held is not"
run lh fsck
is "$status" 0 "the table is sound"

finish
