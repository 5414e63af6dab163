#!/bin/bash
# SPDX-License-Identifier: MIT
# A disk stalls for longer than a session lasts: the leader's of three members,
# which has to lose its place; then all of them, so that nothing is confirmed.
# What a member said it has and had not written is not believed.
watch_s=${LH_TEST_LONG:+1}200
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 2000)
disks 3
etcd_up 3
hosts 2

rounds=$(long 1) hold=100
for i in 1 1 2 2; do
	# some have it for longer, and are cut off while they have it
	contend $i $((rounds * (2 + ttl_ms * 6 / 1000))) $((hold = 3100 - hold))
done
for ((round = 0; round < rounds; round++)); do
	nap 500
	led=$(leader)
	since=$(boot_ns)
	freeze "$led"
	nap $((ttl_ms + 1500))
	ok "the leader's disk stalls: the key is granted" test \
	    $(($(grants_of 1 "$since" "$(boot_ns)") +
	    $(grants_of 2 "$since" "$(boot_ns)"))) -gt 0
	thaw "$led"
	nap 1000
	for i in 1 2 3; do
		freeze $i
	done
	nap $((ttl_ms + 500))
	since=$(boot_ns)
	nap 500
	is $(($(grants_of 1 "$since" "$(boot_ns)") +
	    $(grants_of 2 "$since" "$(boot_ns)"))) 0 \
	    "all disks stall, and the sessions are over: nothing is granted"
	run lh_on 1 run -n cluster:gate true
	is "$status" 69 "  with status 69"
	for i in 1 2 3; do
		thaw $i
	done
	ok "  until they do not" until_true 20000 \
	    lh_on 1 run -w 2s cluster:gate true
done
judged 1000 "disks stalled"
all_well 2
finish
