#!/bin/bash
# SPDX-License-Identifier: MIT
# The shim is killed, or stopped for longer than its session lasts, at each
# point of its way: nothing is held twice, tokens rise, and all go on.
#
# STEPS=all: all of them; else those of tests/cluster/steps.list.
watch_s=600	# all of them
. "$(dirname "$0")/lib.sh"
STEPPED=${STEPPED:-$top/build/hooks/tests/cluster/stepped}
must_run "$STEPPED"
ttl_ms=$(t_ms 1500)
etcd_up 1
host 1
host 2

# which points there are
kill -KILL "${shims[1]}"
export SHIMD_POINTS=$dir/points
shim_with 1 "$STEPPED"
unset SHIMD_POINTS
until_true 10000 has_session 1 1
contend 1 2
contend 2 2
contend 1 2 100 1000 shared
judged 100 "with hooks"
sort "$dir/points" >"$dir/all"
diag "$(wc -l <"$dir/all") points"
ok "there are points" test "$(wc -l <"$dir/all")" -gt 8

ends() {
	! kill -0 "$1" 2>/dev/null ||
	    grep -q '^State:.*[TZ]' "/proc/$1/status"
}

# step POINT SIGNAL
step() {
	local sessions

	kill -KILL "${shims[1]}" 2>/dev/null
	nap 50
	export SHIMD_STEP=$1:2:$2
	case $1 in
	cluster.until | cluster.nobody | cluster.epoch | cluster.begun | \
	    cluster.listening | cluster.serves | shim.epoch)
		# only when it begins, after the earlier session is over
		SHIMD_STEP=$1:1:$2
		nap $((ttl_ms * 2)) ;;
	esac
	shim_with 1 "$STEPPED"
	unset SHIMD_STEP
	contend 1 4
	contend 1 4
	contend 2 4
	contend 1 4 100 2000 shared
	if until_true 10000 ends "${shims[1]}"; then
		pass "$1, $2: it is there"
	else
		fail "$1, $2: it is there"
	fi
	sessions=$(grep -c 'this host holds [0-9]* keys' "$dir/1/log")
	if [ "$2" = KILL ]; then
		shim 1
		ok "  another one has a session" \
		    until_true 10000 has_session 1 "$sessions"
	else
		nap $((ttl_ms * 3 / 2))
		kill -CONT "${shims[1]}"
	fi
	judged 10 "$1, $2"
	ok "  and goes on" until_true 10000 lh_on 1 run -w 2s cluster:gate true
}

if [ "${STEPS:-}" = all ]; then
	sed 's/$/ KILL/p; s/KILL$/STOP/' "$dir/all"
else
	grep -v '^#' "$top/tests/cluster/steps.list"
fi >"$dir/steps"
ok "there are steps" test -s "$dir/steps"
while read -r point signal <&4; do
	ok "$point is a point" grep -qx "$point" "$dir/all"
	step "$point" "$signal"
done 4<"$dir/steps"
sound 1 2
finish
