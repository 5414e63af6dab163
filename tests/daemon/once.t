#!/bin/bash
# SPDX-License-Identifier: MIT
# --once: what is due is done, then it ends; beside a daemon or without.
. "$(dirname "$0")/lib.sh"
table once
lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null

bg "$LEASEHOLD" run -F --ttl 60s dead sleep 60
victim=$pid
bg "$LEASEHOLD" run -F --ttl 300ms due sleep 60
bg "$LEASEHOLD" run --ttl 60s held sleep 60
for k in dead due held; do
	until_true 5000 state_is $k held
done
kill -KILL "$victim"
ended "$victim"
sleep 0.5
is "$(state dead)$(state due)$(state held)" heldheldheld \
    "without a daemon nobody looks"
run "$REAPERD" --once -t "$LEASEHOLD_TABLE"
is "$status" 0 "--once: 0"
between "$took" 500 "$(t_ms 5000)" "  takes a second"
is "$(state dead)" free "  the dead one is buried"
is "$(state due)" free "  what was due is over"
is "$(state held)" held "  and what is held is held"
like "$err" " 1 buried" "  says so"
ok "  no files" test ! -e "$pidfile" -a ! -e "$socket"

reaperd
run "$REAPERD" --once -t "$LEASEHOLD_TABLE"
is "$status" 0 "beside a daemon: 0"
run "$REAPERD" --once -t "no-such-$$"
is "$status" 0 "no table: 0"
like "$err" "table no-such-$$: missing" "  says so"
run lh fsck
is "$status" 0 "the table is sound"

finish
