#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 14
# Guarantee G1 over hosts: host 1 has a key and its shim is stopped.  Etcd is
# killed, loses all data, begins again as the same cluster, and its revision is
# raised.  Host 2 saw that the store was older.  It takes nothing, and calls no
# key free, until host 1's right has ended; also if its shim is killed and
# started again meanwhile.
#
# Otherwise host 2 finds an empty queue, and both hosts have the key.
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 6000)
etcd_up 1
host 1
host 2

lh_on 1 session open --ttl 600s job >/dev/null
lh_on 1 acquire -w 20s --session job cluster:x >"$dir/lease"
read -r _ token _ <"$dir/lease"
has_it() {
	lh_on 1 verify cluster:x "$token" >/dev/null 2>&1
}

ok "host 1 has the key" has_it
kill -STOP "${shims[1]}"
kill -KILL "${members[1]}"
ended "${members[1]}"
rm -rf "${data:?}/1"
member 1
until_true 10000 answers 1
ok "the shim of host 2 sees an older store" until_true 10000 logged 2 \
    "older than before"
ask 1 'v3/kv/put#[1-30]' -d '{"key":"eA=="}' >/dev/null

says_wait() {
	run lh_on 2 status cluster:x
	[[ $out == *"no key is granted for "* ]]
}

run lh_on 2 run -n cluster:x true
is "$status" 69 "host 2 does not get it"
kill -KILL "${shims[2]}"
ended "${shims[2]}"
like "$(cat "$dir/2/${table[2]}.state")" "wait $((ttl_ms + ttl_ms / 1000 + 101))" \
    "its state file has the wait"
shim 2
ok "another shim there waits, too" until_true 10000 says_wait
is "$status" 69 "  status: not known"
like "$out" "state    unknown" "  not free"
like "$out" " s more: the store was older than before" "  why"
diag "$out"
cmp=$(shim_stat 2 leasehold_shim_store_wait_seconds)
between "${cmp%.*}" 0 $((ttl_ms / 1000 + 1)) "  its metric is the rest"
isnt "${cmp%.*}${cmp#*.}" 0 "  which is not 0"
both=0 got=0 looks=0
until [ $got = 1 ] || [ $looks -ge 300 ]; do
	lh_on 2 run -n cluster:x true 2>/dev/null && got=1
	[ $got = 1 ] && has_it && both=1
	looks=$((looks + 1))
	nap 50
done
is $got 1 "then host 2 has it"
is $both 0 "  but not while host 1 has it"
diag "after $looks looks"
ok "  the log says that the wait is over" logged 2 "lost past is over"
is "$(shim_stat 2 leasehold_shim_store_wait_seconds)" 0 "  and the metric"
kill -CONT "${shims[1]}"
ok "host 1 may have it again" until_true $((5 * ttl_ms)) \
    lh_on 1 run -n cluster:x true
ok "  its lease is lost" eval '! has_it'
sound 1 2
finish
