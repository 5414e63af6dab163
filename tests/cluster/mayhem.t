#!/bin/bash
# SPDX-License-Identifier: MIT
# All faults, drawn at random, several at a time: members and hosts that are cut
# off, killed and stopped; shims killed and stopped; processes paused.  SEED=N
# repeats one, as far as time does; MAYHEM_SECONDS=N: for so long.
watch_s=${LH_TEST_LONG:+1}300
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 1500)
RANDOM=${SEED:-$$}
diag "SEED=${SEED:-$$}"
net 3 3
etcd_up 3
hosts 3

seconds=${MAYHEM_SECONDS:-${LH_TEST_LONG:+6}10}
export TTL_MS=1000
for i in 1 2 3; do
	contend $i "$seconds" 100
	contend $i "$seconds" 3000
done
# one that keeps it: it is cut off while it has it
contend 3 "$seconds" 400000 700000
contend 1 "$seconds" 1000 5000 shared
contend 2 "$seconds" 1000 5000 shared
pids=("${contenders[@]}")
events=

# What is broken now: by what it is of, how it is mended, and when.
mend=() mend_at=()

# breaks WHAT MS COMMAND: mended by that, so much later
breaks() {
	mend[$1]=$3
	mend_at[$1]=$(($(now_ms) + $2))
}

# fault: one, drawn, of something that is not broken
fault() {
	local i=$((RANDOM % 3 + 1)) kind=$((RANDOM % 8)) at p

	# members are 1..3, hosts' networks 11.., shims 21.., processes 31..
	case $kind in
	0 | 2 | 3) at=$i ;;
	1)	at=$((10 + i)) ;;
	7)	at=$((31 + RANDOM % ${#pids[@]})) ;;
	*)	at=$((20 + i)) ;;
	esac
	[ -z "${mend[$at]:-}" ] || return 0
	case $kind in
	0)	note="member $i cut off"
		cut m$i
		breaks $at $((RANDOM % 2000)) "heal m$i" ;;
	1)	note="host $i cut off"
		cut h$i
		breaks $at $((RANDOM % (ttl_ms * 2))) "heal h$i" ;;
	2)	note="member $i killed"
		kill -KILL "${members[$i]}"
		breaks $at $((RANDOM % 800)) "member $i" ;;
	3)	note="member $i stopped"
		kill -STOP "${members[$i]}"
		breaks $at $((RANDOM % 2000)) "kill -CONT ${members[$i]}" ;;
	4 | 5)	note="shim $i killed"
		kill -KILL "${shims[$i]}"
		breaks $at $((RANDOM % (RANDOM % 2 ? 100 : ttl_ms * 2))) \
		    "shim $i" ;;
	6)	note="shim $i stopped"
		kill -STOP "${shims[$i]}"
		breaks $at $((RANDOM % (ttl_ms * 2))) \
		    "kill -CONT ${shims[$i]}" ;;
	7)	p=${pids[$((at - 31))]}
		note="a process paused"
		kill -STOP "$p"
		breaks $at $((RANDOM % 2000)) "kill -CONT $p" ;;
	esac
	events="$events; $note"
}

# mend_now ALL: what is due, or all of it
mend_now() {
	local i now

	now=$(now_ms)
	for i in "${!mend[@]}"; do
		[ -z "$1" ] && [ "$now" -lt "${mend_at[$i]}" ] && continue
		${mend[$i]}
		unset "mend[$i]"
	done
}

end=$(($(now_ms) + seconds * 1000))
while [ "$(now_ms)" -lt $end ]; do
	[ "${#mend[@]}" -ge 3 ] || [ $((RANDOM % 4)) != 0 ] || fault
	mend_now ""
	nap 50
done
mend_now all
diag "${events#; }"
judged $((seconds * 5)) "mayhem"
all_well 3 15000
finish
