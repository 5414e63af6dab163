#!/bin/bash
# SPDX-License-Identifier: MIT
# What host 2 says about a key that host 1 holds, with and without a waiter
# here, and while the cluster is away: never "free" or "nobody".  break and ask
# do nothing to what the shim keeps here.  The end that is shown is not after
# that of the host's right.
#
# Otherwise `if leasehold status` would start a second job, an operator who
# follows the advice would break nothing but the waiters' peace, and a lease
# would seem to last for minutes after its host has lost the key.
. "$(dirname "$0")/lib.sh"
ttl_ms=$(t_ms 8000)
etcd_up 1
host 1
host 2

bg env LEASEHOLD_TABLE="${table[1]}" "$LEASEHOLD" run --ttl 600s cluster:k \
    sleep 600
holder=$pid
ok "host 1 holds it" until_true 10000 is_held_on 1 cluster:k

# held_there WHEN
held_there() {
	run lh_on 2 status cluster:k
	is "$status" 0 "$1: status: held"
	like "$out" "held elsewhere" "  elsewhere"
	like "$out" "only that host can tell" "  and what is not known"
	like "$out" "$(uname -n) session" "  by that host"
	run lh_on 2 status --json cluster:k
	is "$status $(jq -r '.state + ", " + .elsewhere' <<<"$out")" \
	    "0 held elsewhere, held" "  as JSON"
	run lh_on 2 explain cluster:k
	is "$status" 0 "  explain: held"
	like "$out" "is held on another host" "  elsewhere"
	ok "  no advice to break it here" test "${out/leasehold break/}" = "$out"
	for verb in break ask; do
		run lh_on 2 $verb cluster:k
		is "$status" 75 "  $verb: busy"
		like "$err" "is held on another host" "  and where"
	done
}

held_there "not known to the table"
run lh_on 2 run -n cluster:k true
is "$status" 75 "a try: busy"
held_there "known to the table"
run lh_on 2 list
like "$out" "elsewhere" "list: elsewhere"
run lh_on 2 list --json
is "$(jq -r '.[0].state' <<<"$out")" "held elsewhere" "  as JSON"
run lh_on 2 list --held
like "$out" "cluster:k" "  among those that are held"

bg env LEASEHOLD_TABLE="${table[2]}" "$LEASEHOLD" run -w 1h cluster:k \
    touch "$dir/ran"
waits() {
	lh_on 2 status cluster:k | grep -q '^waiters *1'
}
ok "a process of host 2 waits" until_true 10000 waits
held_there "with a waiter"
run lh_on 2 status cluster:k
like "$out" "(this host's latest; the holder's is not known here)" \
    "  the token is not called the holder's"
nap 500
run lh_on 2 log cluster:k
ok "  the log has no grant" test "${out/has it/}" = "$out"
ok "  the job has not run" test ! -e "$dir/ran"
is "$(lh_on 2 status --json cluster:k | jq '.holders[].for_cluster')" true \
    "  the shim is marked as no holder"

run lh_on 2 log --grants on
nap 100
run lh_on 2 log --at now cluster:k
is "$status" 66 "  who held it is not in the log of this host"
like "$out" "another host may have held it" "  says so"

# The end of the lease, and the cluster away.
ends_in() {
	lh_on 1 status --json cluster:k | jq -r \
	    ".holders[0].expires_ms as \$e | (\$e | tonumber) - $(date +%s%3N)"
}
between "$(ends_in)" 1 "$ttl_ms" "the lease ends with the host's right"
run lh_on 1 status cluster:k
like "$out" "host's right" "  says so"
kill -KILL "${members[1]}"
ended "${members[1]}"
run lh_on 1 status cluster:k
is "$status" 0 "the cluster away: host 1 still holds it"
like "$out" "the cluster does not say" "  that is said"
between "$(ends_in)" 1 "$ttl_ms" "  and the end is near"
run lh_on 1 explain cluster:k
like "$out" "host's right" "  explain says so"
like "$out" "the cluster does not say" "  and that the cluster is away"
run lh_on 2 status cluster:other
is "$status" 69 "host 2: another key: not known"
run lh_on 2 status cluster:k
is "$status" 69 "  this one: not known"
like "$out" "unknown" "  in words"
is "$(lh_on 2 status --json cluster:k | jq -r .state)" unknown "  as JSON"
run lh_on 2 explain cluster:other
is "$status" 69 "  explain: not known"
run lh_on 2 list --json
is "$(jq -r '.[] | select(.key == "cluster:k").state' <<<"$out")" unknown \
    "  list: not known"
run lh_on 2 break cluster:k
is "$status" 69 "  break: not known"
rm "$dir/2"/*.sock
run lh_on 2 run -n cluster:other true
like "$err" "restart it if its socket was removed" \
    "the shim's socket was removed: what to do"
LEASEHOLD_TABLE=none-$$ run lh status cluster:k
is "$status" 69 "no table: not known"
LEASEHOLD_TABLE=none-$$ run lh status k
is "$status" 1 "  a key of this host: nobody"
ended "$holder"
is "$status" 76 "host 1's job ends with the right"
run lh_on 1 status cluster:k
is "$status" 69 "  and then it is not known who has it"
finish
