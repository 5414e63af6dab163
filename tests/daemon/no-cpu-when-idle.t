#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# With nothing to do the daemon does next to nothing, and needs little memory;
# nor do files that come and go in /dev/shm keep it busy.  Nor does its sister,
# the shim, wake for nothing.
. "$(dirname "$0")/lib.sh"
table idle
reaperd
served
for i in {1..20}; do
	bg "$LEASEHOLD" run -F --ttl 60s "k$i" sleep 60
done
until_true 10000 sessions_are 20

# cpu_ms: processor time so far
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" \
	    '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' \
	    "/proc/$daemon/stat"
}
# cpu_of MS MOST COMMAND...: it takes so long at least, and in that time so much
# is used at most; as much more as it took longer
cpu_of() {
	local most=$2 ms=$1 a b

	shift 2
	a=$(cpu_ms)
	run "$@"
	b=$(cpu_ms)
	[ "$took" -gt "$ms" ] || took=$ms
	between $((b - a)) 0 $((most * took / ms)) \
	    "$what: $((b - a)) ms in $took ms"
}
settle
what="20 holders"
cpu_of 2000 50 sleep 2
kb=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status")
between "$kb" 0 4096 "private memory: $kb kB"

noise() {
	local end

	end=$(($(now_ms) + 2000))
	while [ "$(now_ms)" -lt $end ]; do
		: >"/dev/shm/leasehold.test-noise.$$"
		rm "/dev/shm/leasehold.test-noise.$$"
		n=$((n + 1))
	done
}
n=0
what="files that come and go"
cpu_of 2000 200 noise
diag "$n files"

SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
forget LEASEHOLD_SHIMD_
export STATE_DIRECTORY=$dir/state
: >"$dir/log"
bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" "$SHIMD" -f \
    -e http://127.0.0.1:1
shim=$pid
until_true 5000 logged "is unreachable"

# wakes: how often its threads have slept so far
wakes() {
	awk '/^voluntary/ { n += $2 } END { print n }' "/proc/$shim/task/"*/status
}
wakes_now_and_then() {
	a=$(wakes)
	sleep 2
	b=$(wakes)
	[ $((b - a)) -ge 4 ] && [ $((b - a)) -le 40 ]
}
sleep 1
ok "the shim wakes now and then" tries 3 wakes_now_and_then
diag "$((b - a)) times in two seconds"
kill -TERM "$shim"
ended "$shim"

finish
