#!/bin/bash
# SPDX-License-Identifier: MIT
# The cluster does what hosts ask, and its answers are lost, again and again.
# The hosts find out each result; nothing is held twice, and nothing is left
# over.
watch_s=${LH_TEST_LONG:+1}200
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 4000)
etcd_up 1
for i in 1 2; do
	cutter $i
	host $i
	reaper $i
done

seconds=$(long 8)
for i in 1 1 2 2; do
	contend $i "$seconds"
done
contend 1 "$seconds" 200 3000 shared
contend 2 "$seconds" 200 3000 shared
kill -USR1 "${cutters[@]}"
judged 1000 "answers dropped"
kill -USR2 "${cutters[@]}"
for i in 1 2; do
	unknown=$(shim_stat $i leasehold_shim_store_unknown)
	diag "host $i: $unknown unknown outcomes"
	ok "host $i had answers that said nothing" test "$unknown" -gt 0
	ok "  and goes on" until_true 10000 \
	    lh_on $i run -w 5s cluster:gate true
done
for i in 1 2; do
	kill -TERM "${shims[$i]}"
	ended "${shims[$i]}"
	is "$status" 0 "shim $i ends"
	kill -TERM "${cutters[$i]}"
	ended "${cutters[$i]}"
	diag "cutter $i: $(cat "$dir/cutter$i") cuts"
done
is "$(ask 1 v3/kv/range \
    -d '{"key":"AA==","range_end":"AA==","count_only":true}' |
    jq -r '.count // 0')" 0 "nothing is left in etcd"
finish
