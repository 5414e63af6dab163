#!/bin/bash
# SPDX-License-Identifier: MIT
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
settle
a=$(cpu_ms)
sleep 2
b=$(cpu_ms)
between $((b - a)) 0 50 "two seconds of 20 holders: $((b - a)) ms"
kb=$(awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status")
between "$kb" 0 4096 "private memory: $kb kB"

a=$(cpu_ms)
end=$(($(now_ms) + 2000))
n=0
while [ "$(now_ms)" -lt $end ]; do
	: >"/dev/shm/leasehold.test-noise.$$"
	rm "/dev/shm/leasehold.test-noise.$$"
	n=$((n + 1))
done
b=$(cpu_ms)
between $((b - a)) 0 200 "$n files that come and go: $((b - a)) ms"

SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
forget LEASEHOLD_SHIMD_
export STATE_DIRECTORY=$dir/state
: >"$dir/log"
bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" "$SHIMD" -f \
    -e http://127.0.0.1:1
shim=$pid
until_true 5000 logged "is away"

# wakes: how often its threads have slept so far
wakes() {
	awk '/^voluntary/ { n += $2 } END { print n }' "/proc/$shim/task/"*/status
}
sleep 1
a=$(wakes)
sleep 2
b=$(wakes)
between $((b - a)) 4 40 "the shim wakes $((b - a)) times in two seconds"
kill -TERM "$shim"
ended "$shim"

finish
