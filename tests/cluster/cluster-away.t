#!/bin/bash
# SPDX-License-Identifier: MIT
# No shim ever, no shim any more, no cluster: from the start, while a key is
# held, while it is waited for.  Each error says which it is.  Local keys go on
# as before.
. "$(dirname "$0")/lib.sh"
etcd_up 1
table none
none=$LEASEHOLD_TABLE
run lh run -w 2s cluster:k true
is "$status" 69 "no shim was ever here: 69"
like "$err" "leasehold-shimd" "  says what is lacking"
run lh run local true
is "$status" 0 "keys of the host alone do not mind"

host 1
host 2
# held, and waited for, when the cluster goes
bg env LEASEHOLD_TABLE="${table[1]}" "$LEASEHOLD" run cluster:k \
    sh -c 'sleep 60'
holder=$pid
until_true 5000 is_held_on 1 cluster:k
bg env LEASEHOLD_TABLE="${table[2]}" "$LEASEHOLD" run -w 60s cluster:k true
waiter=$pid
nap 300
kill -STOP "${members[1]}"
ended "$holder"
is "$status" 76 "held, and the cluster goes: lost, 76"
ended "$waiter"
is "$status" 69 "waited for: 69"
run lh_on 1 run -w 5s cluster:other true
is "$status" 69 "who comes then: 69"
diag "$err"
like "$err" "cluster" "  says why"
run lh_on 1 run -n cluster:other true
is "$status" 69 "a try, too: 69, not busy"
run lh_on 1 run local true
is "$status" 0 "keys of the host alone do not mind"
kill -CONT "${members[1]}"
ok "it comes back" until_true 20000 lh_on 1 run -n cluster:back true
run lh_on 1 run -w 10s cluster:k true
is "$status" 0 "and all goes on"

kill -KILL "${shims[1]}"
nap $((ttl_ms + 500))
run lh_on 1 run -w 5s cluster:k true
is "$status" 69 "the shim is dead: 69"
diag "$err"
finish
