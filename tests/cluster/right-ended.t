#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 12
# Guarantee G3: host 1 has a cluster key in a named session, which no process
# looks at, and its shim is killed and does not come back.  Before D, each
# command shows the end with the host's right.  After it, none says that the key
# is held here: not before another host has it, and not while it has it.
#
# Otherwise an operator, or a script, goes by a lease that has ended, while the
# job runs on another host.
. "$(dirname "$0")/lib.sh"
ttl_ms=$(t_ms 4000)
etcd_up 1
host 1
host 2

lh_on 1 log --grants on
nap 100
lh_on 1 session open --ttl 600s job >/dev/null
for k in a b c d; do
	lh_on 1 acquire -w 20s --session job "cluster:$k" >>"$dir/ids"
done
mapfile -t lease <"$dir/ids"
# of N $id, $token
lease() {
	read -r id token _ <<<"${lease[$1]}"
}

run lh_on 1 status cluster:a
like "$out" "with this host's right to it, unless" \
    "status: it ends with the host's right"
run lh_on 1 run -n cluster:a true
is "$status" 75 "run -n: busy"
like "$err" " s, with this host's right" \
    "  and until when: the same"
kill -KILL "${shims[1]}"
ended "${shims[1]}"
look_at_clock
killed=$now


unknown() {
	run lh_on 1 status cluster:a
	[ "$status" -eq 69 ]
}
ok "it ends" until_true $((ttl_ms * 2)) unknown

# not_held WHEN
not_held() {
	local ended

	run lh_on 1 status cluster:a
	is "$status" 69 "$1: status: not known"
	like "$out" "state    unknown" "  in words"
	like "$out" "lost by  session job" "  who has lost it"
	like "$out" " ago, with this host's right" "  and when"
	run lh_on 1 status --json cluster:a
	is "$status $(jq -r .state <<<"$out")" "69 unknown" "  as JSON"
	ended=$(jq -r '.holders[0].expires_ms' <<<"$out")
	between "$ended" "$((killed - 1000))" "$((killed + ttl_ms))" "  when"
	nap 300
	between "$(lh_on 1 status --json cluster:a |
	    jq -r '.holders[0].expires_ms')" "$((ended - 2))" \
	    "$((ended + 2))" "  and it stays so"
	run lh_on 1 explain cluster:a
	is "$status" 69 "  explain"
	like "$out" "not held here any more" "  in words"
	ok "  no advice to break it" test "${out/leasehold break/}" = "$out"
	run lh_on 1 list --json cluster:
	is "$(jq -r '.[].state' <<<"$out" | sort -u)" unknown "  list"
	run lh_on 1 ask cluster:a
	is "$status" 69 "  ask"
	run lh_on 1 top -b -n 1
	like "$out" ", 0 held" "  top: none is held"
	is "$(lh_on 1 tables --json |
	    jq -r ".[] | select(.table == \"${table[1]}\").held")" 0 "  tables"
	run lh_on 1 destroy cluster:a
	is "$status" 75 "  destroy"
	like "$err" "is not held here any more" "  says so"
	run lh_on 1 log --at now cluster:a
	is "$status" 66 "  log --at: not recorded"
	ok "  and names nobody" test "${out/was held/}" = "$out"
	run lh_on 1 watch -n 1 -w 300ms cluster:a
	ok "  watch: nobody holds it" test "${out/holds/}" = "$out"
}
not_held "after D"
bg env LEASEHOLD_TABLE="${table[2]}" "$LEASEHOLD" run -w 30s \
    cluster:a,cluster:b,cluster:c,cluster:d sleep 600
ok "host 2 has them" until_true 20000 is_held_on 2 cluster:a
not_held "while host 2 has it"

# What a script of host 1 hears that goes on.
run lh_on 1 renew job
is "$status" 76 "renew: leases in the session are lost"
for k in a b c d; do
	like "$err" "the lease on 'cluster:$k' in session 'job' is lost" \
	    "  each by name: $k"
done
like "$out" 600 "  and the session lives"
is "$(lh_on 1 session list --json | jq -c '.[0] | [.leases, .lost]')" "[0,4]" \
    "  session list counts them"
lease 1
run lh_on 1 convert -s cluster:b "$id" "$token"
is "$status" 76 "convert: lost"
like "$err" "host's right to it in the cluster has ended" "  and why"
lease 2
run lh_on 1 release cluster:c "$id" "$token"
is "$status" 76 "release: lost"
like "$err" "host's right to it in the cluster has ended" "  and why"
run lh_on 1 release cluster:c "$id" "$token"
is "$status" 76 "  again"
like "$err" "host's right to it in the cluster has ended" "  and why"
lease 3
run lh_on 1 verify cluster:d "$token"
is "$status" 1 "verify: no"
like "$err" "another host may have it" "  and why"
ok "  not that nobody has it" test "${err/nobody/}" = "$err"
between=$(date '+%Y-%m-%d %H:%M:%S')
nap 1100
run lh_on 1 log --at "$between" cluster:a
is "$status" 66 "in retrospect: not certain"
run lh_on 1 break cluster:a
is "$status" 69 "break: not known who has it"
like "$out" "lost with this host's right" "  what has ended leaves the table"
run lh_on 1 status cluster:a
is "$status" 69 "  status: not known still"
ok "  and names nobody" test "${out/lost by/}" = "$out"
run lh_on 1 log --at "$between" cluster:a
is "$status" 66 "  in retrospect: still not certain"
finish
