#!/bin/bash
# SPDX-License-Identifier: MIT
# Three members and three hosts, each in a network namespace of its own.  The
# leader is cut off from all, then from the other members only (hosts reach it
# and it answers, but has nobody behind it), then a host is: nothing is held
# twice, and whoever is not cut off goes on.
watch_s=${LH_TEST_LONG:+1}200
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 2500)
net 3 3
etcd_up 3
hosts 3

# others_go_on SINCE NAME: host 2 or 3 were granted it since then
others_go_on() {
	local to

	to=$(boot_ns)
	ok "$2" test $(($(grants_of 2 "$1" "$to") +
	    $(grants_of 3 "$1" "$to"))) -gt 0
}

cut_all() {
	local led since

	led=$(leader)
	since=$(boot_ns)
	cut "m$led"
	nap 3000
	heal "m$led"
	nap 500
	isnt "$(leader)" "" "leader cut off: one leads"
	led=$(leader)
	case $led in
	1) cut m1 m2 m3 ;;
	2) cut m2 m1 m3 ;;
	3) cut m3 m1 m2 ;;
	esac
	nap 3000
	heal "m$led"
	others_go_on "$since" "leaders cut off: the key was granted"
}

# while it has a key that others wait for, and looks at it all the time
cut_host() {
	local since sessions of=kept

	contend 1 1 30000000
	until_true 5000 is_held_on 1 cluster:kept
	contend 2 $((ttl_ms * 2 / 1000 + 2))
	contend 3 $((ttl_ms * 2 / 1000 + 2))
	nap 200

	sessions=$(grep -c 'this host holds [0-9]* keys' "$dir/1/log")
	since=$(boot_ns)
	cut h1
	nap $((ttl_ms * 2))
	others_go_on "$since" "host cut off: others go on"
	heal h1
	ok "  it is back" until_true 15000 has_session 1 "$sessions"
}

rounds=$(long 1) hold=100
for i in 1 1 2 2 3; do
	# some have it for longer, and are cut off while they have it
	contend $i $((rounds * (10 + ttl_ms * 4 / 1000))) $((hold = 3100 - hold))
done
for ((round = 0; round < rounds; round++)); do
	cut_all
	nap 1500
	cut_host
done
judged 1000 "partitioned"
of=kept judged 50 "kept until it was cut off"
like "$(cat "$dir/1/log")" "leases of cluster keys are lost" "the log tells"
all_well 3
finish
