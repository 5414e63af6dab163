#!/bin/bash
# SPDX-License-Identifier: MIT
# Holders and waiters do not notice that the daemon is killed or stopped, at
# whatever moment: nobody gets what another holds, and every wait
# ends.
watch_s=300
. "$(dirname "$0")/lib.sh"
table harmless
lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null

# Each worker adds one to a file, many times, under the key; some of them die
# over it before they have, and do it again.
echo 0 >"$dir/sum"
work='n=$(cat "$1")
    [ $((RANDOM % 10)) = 0 ] && kill -KILL $PPID && exec sleep 60
    echo $((n + 1)) >"$1"'
cat >"$dir/worker" <<'EOF'
for i in {1..50}; do
	until "$LEASEHOLD" run --ttl 10s -w 20s sum bash -c "$1" - "$2"; do
		echo >>"$3"
	done
done
EOF
workers=()
for i in 1 2 3 4; do
	bg bash "$dir/worker" "$work" "$dir/sum" "$dir/again"
	workers+=("$pid")
done
kills=0
busy() {
	local p

	for p in "${workers[@]}"; do
		gone "$p" || return 0
	done
	return 1
}
# The work goes on, however slow the machine is.
began=$(now_ms)
seen=
goes_on() {
	local now

	now=$(cat "$dir/sum")
	[ "$now" = "$seen" ] || began=$(now_ms)
	seen=$now
	[ $(($(now_ms) - began)) -lt "$(t_ms 60000)" ]
}
while busy && goes_on; do
	reaperd
	nap $((RANDOM % 100))
	if [ $((kills % 2)) = 0 ]; then
		kill -STOP "$daemon"
		nap $((RANDOM % 300))
	fi
	kill -KILL "$daemon"
	ended "$daemon"
	kills=$((kills + 1))
done
ok "all workers end, while the daemon was killed $kills times" eval "! busy"
is "$(cat "$dir/sum")" 200 "nobody worked beside another"
ok "  though some died" test -s "$dir/again"
run lh fsck
is "$status" 0 "the table is sound"
diag "$(wc -l <"$dir/again") died; $out"

# A stopped daemon holds up neither a newcomer nor a removal.
reaperd
kill -STOP "$daemon"
run lh run -n sum true
is "$status" 0 "stopped: keys are granted"
run lh rm
is "$status" 0 "  and the table removed"
kill -CONT "$daemon"
ok "  which it notices then" until_true 5000 logged "was removed"

finish
