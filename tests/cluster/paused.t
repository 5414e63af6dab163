#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Processes of a host are paused for longer than their leases, wherever they
# are; then a whole host is, for longer than its session.  When they go on, the
# gate refuses their writes, and their calls say that the lease is lost.
watch_s=${LH_TEST_LONG:+1}200
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 2000)
etcd_up 1
hosts 2

rounds=$(long 1)
seconds=$((rounds * (8 + ttl_ms * 3 / 1000)))
export TTL_MS=700
on=()
for i in 1 1 1 2 2 2; do
	contend $i $seconds 2000 100
	[ $i = 2 ] || on+=("$pid")
done
victims=("${contenders[@]}")
for ((round = 0; round < rounds; round++)); do
	since=$(boot_ns)
	# one after another, and for a time all but one
	for p in "${victims[@]:1}"; do
		kill -STOP "$p"
		nap 300
	done
	nap 1500
	for p in "${victims[@]:1}"; do
		kill -CONT "$p"
		nap 200
	done
	ok "processes paused: others go on" test \
	    "$(grants_of 1 "$since" "$(boot_ns)")" -gt 0
	nap 300
	# the host
	kill -STOP "${on[@]}" "${shims[1]}" "${reapers[1]}"
	nap $((ttl_ms * 3 / 2))
	since=$(boot_ns)
	nap $((ttl_ms / 2))
	ok "a host paused: another one goes on" test \
	    "$(grants_of 2 "$since" "$(boot_ns)")" -gt 0
	kill -CONT "${on[@]}" "${reapers[1]}"
	nap 200
	kill -CONT "${shims[1]}"
	ok "  it has a session again" until_true 15000 has_session 1 $((round + 1))
done
judged 500 "paused"
all_well 2
finish
