#!/bin/bash
# SPDX-License-Identifier: MIT
# A lease that nobody waits for is ended at its deadline, exclusive or shared,
# also of a process that is stopped; a renewed one is not.
. "$(dirname "$0")/lib.sh"
table due
reaperd
served

ttl=$(t_ms 3000)	# it is not late with renewing on a busy machine
bg "$LEASEHOLD" run --ttl "${ttl}ms" renewed sleep 60
until_true 5000 state_is renewed held
renewed=$(now_ms)
for kind in -x -s; do
	rm -f "$dir/began"
	bg "$LEASEHOLD" run $kind -F --ttl "$(t_ms 500)ms" k \
	    sh -c "echo >$dir/began; exec sleep 60"
	holder=$pid
	ok "$kind: held" until_true 5000 test -s "$dir/began"
	kill -STOP "$holder"
	ok "$kind: freed, though its process is stopped" \
	    until_true 3000 state_is k free
	kill -KILL "$holder"
done
both() {
	[ "$(lh dump --json | jq '.keys[] | select(.key == "shared") |
	    .holders | length')" = "$1" ]
}
bg "$LEASEHOLD" run -s --ttl 60s shared sleep 60
ok "a reader" until_true 5000 both 1
rm -f "$dir/began"
bg "$LEASEHOLD" run -s -F --ttl "$(t_ms 1500)ms" shared \
    sh -c "echo >$dir/began; exec sleep 60"
ok "two readers" until_true 5000 test -s "$dir/began"
ok "one of them is over" until_true 4000 both 1
ok "  the next one is granted" eval "lh run -n k true"
while [ $(($(now_ms) - renewed)) -lt $((ttl + 300)) ]; do
	nap 100
done
is "$(state renewed)" held "one that is renewed is held"
ok "expiries are counted" until_true 2000 has_ended 3

finish
