#!/bin/bash
# SPDX-License-Identifier: MIT
# One user asks the shim more than it can answer, on 600 connections: others
# have what they want within a second each, no session is lost, and what the
# user had leaves when it goes.
# test: slow 20
watch_s=200
. "$(dirname "$0")/lib.sh"
export LEASEHOLD_SHIMD_SOCKET_MODE=666 LEASEHOLD_SHIMD_IDLE=2s
FLOOD=${FLOOD:-$(dirname "$CONTEND")/flood}
must_run "$FLOOD"
ulimit -n "$(ulimit -Hn)"
etcd_up 1
host 1

# shim_number NAME: of the metrics
shim_number() {
	lh_on 1 stats --shim | sed -n "s/^leasehold_shim_$1[{ ].* //p"
}

# make check has other layers beside it, which want the processors too
seconds=6 at_most_ms=3000 kinds=same
if [ -n "${LH_TEST_LONG:-}" ]; then
	seconds=15 at_most_ms=1000 kinds='same different want'
fi

# flooded KIND: five honest runs meanwhile
flooded() {
	local i slowest=0 bad=0

	bg bash -c '"$0" "$@" >"$OUT"' "$FLOOD" "$dir/1/${table[1]}.sock" \
	    "${table[1]}" \
	    65534 600 $seconds "$1"
	flooder=$pid
	until_true 10000 grep -q '^connections' "$OUT"
	is "$(sed -n 's/^connections //p' "$OUT")" 600 \
	    "$1: another user has 600 connections"
	nap 1000
	for i in 1 2 3 4 5; do
		run lh_on 1 run -w 5s "cluster:honest$1$i" true
		[ "$status" = 0 ] || { bad=$((bad + 1)); diag "$err"; }
		[ "$took" -le "$slowest" ] || slowest=$took
	done
	is $bad 0 "$1: five honest runs have their keys"
	between "$slowest" 0 "$(t_ms $at_most_ms)" "  each within $at_most_ms ms"
	ended "$flooder"
	diag "$(tr '\n' ' ' <"$OUT")"
	is "$(shim_number sessions_lost_total)" 0 "$1: no session is lost"
}

export OUT=$dir/flood.out
for kind in $kinds; do
	flooded "$kind"
	rm "$OUT"
done
few_keys() {
	[ "$(shim_number keys)" -lt 20 ]
}
ok "idle keys leave" until_true 60000 few_keys
diag "resident: $(awk '/VmRSS/ { print $2 }' "/proc/${shims[1]}/status") kB"
finish
