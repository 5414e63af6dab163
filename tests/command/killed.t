#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Guarantee G4: `leasehold run` itself is killed: its command dies with it, and
# the key is free then.  If a descendant kept the liveness descriptor, the key
# is free at the deadline.  While run lives, a command that closes everything
# loses nothing (see the end).
#
# Otherwise kill -9 of the wrapper would free the key of a running job, or keep
# it for ever.
. "$(dirname "$0")/lib.sh"
table killed

# While we live, a command that closes everything loses nothing (see the end).
covered_ttl=$(t_ms 6000)
covered_since=$(now_ms)
bg "$LEASEHOLD" run --ttl "${covered_ttl}ms" covered bash -c '
    for f in /proc/$$/fd/*; do
	f=${f##*/}
	[ "$f" -lt 3 ] || [ "$f" = 255 ] || eval "exec $f>&-"
    done
    sleep 63'
covered=$pid

# The command dies with us, and the key is free at once.
dies() {
	bg "$LEASEHOLD" run --ttl 60s k sleep 150
	holder=$pid
	begun "$holder"
	mind "$command"
	kill -KILL "$holder"
	ok "the command dies with us" until_true 5000 gone "$command"
	run lh run -w 20s k true
	is "$status" 0 "  and the key can be acquired"
}
in_time "$(t_ms 3000)" dies
between "$took" 0 "$(t_ms 3000)" "  long before the deadline"

# ends_ms: when the lease on k does, since 1970; 0: nobody holds it
ends_ms() {
	lh status --json k | jq -r '.holders[0].expires_ms // 0'
}

# until_deadline LATE_MS: others are kept out; in $took, how long after the
# deadline one is let in.  False: we came too late to see it.
until_deadline() {
	local before

	ends=$(ends_ms)
	sleep 0.3
	run lh run -n k true
	kept=$status
	before=$(now_ms)
	run lh run -w "$((ttl + 10000))ms" k true
	took=$(($(now_ms) - ends))
	[ "$before" -lt "$ends" ] && [ "$took" -le "$1" ]
}

# A grandchild that keeps the liveness descriptor keeps the key, until the
# deadline.
ttl=$(t_ms 3000)
kept_by_grandchild() {
	rm -f "$dir/grandchild"
	bg "$LEASEHOLD" run --ttl "${ttl}ms" k bash -c \
	    "sleep 61 & echo \$! >$dir/grandchild; wait"
	holder=$pid
	until_true 5000 test -s "$dir/grandchild"
	grandchild=$(cat "$dir/grandchild")
	mind "$grandchild"
	kill -KILL "$holder"
	ended "$holder"
	until_deadline "$(t_ms 1000)"
}
tries kept_by_grandchild
is "$kept" 75 "a grandchild keeps the key"
is "$status" 0 "  until the deadline"
between "$took" -20 "$(t_ms 1000)" "  and not longer"
ok "  though it outlives us" kill -0 "$grandchild"
kill -KILL "$grandchild"

# One that has released it does not.
let_go() {
	rm -f "$dir/grandchild"
	bg "$LEASEHOLD" run --ttl 60s k bash -c '
	    for f in /proc/$$/fd/*; do
		f=${f##*/}
		[ "$f" -lt 3 ] || [ "$f" = 255 ] || eval "exec $f>&-"
	    done
	    sleep 62 & echo $! >'"$dir/grandchild"'; wait'
	holder=$pid
	until_true 5000 test -s "$dir/grandchild"
	grandchild=$(cat "$dir/grandchild")
	mind "$grandchild"
	kill -KILL "$holder"
	run lh run -w 20s k true
	is "$status" 0 "one that closed the descriptor does not keep the key"
}
in_time "$(t_ms 3000)" let_go
between "$took" 0 "$(t_ms 3000)" "  freed long before the deadline"
ok "  though it still lives" kill -0 "$grandchild"
kill -KILL "$grandchild"

# A leftover that still has the descriptor is in nobody's way after a release.
rm -f "$dir/grandchild"
run lh run k sh -c "sleep 64 & echo \$! >$dir/grandchild"
grandchild=$(cat "$dir/grandchild")
mind "$grandchild"
for i in 1 2 3; do
	run lh run -n k true
	is "$status" 0 "after a release the descriptor means nothing ($i)"
done
kill -KILL "$grandchild"

# -F: the command is us, nothing renews.
ttl=$(t_ms 3000)
is_sleep() {
	[ "$(cat "/proc/$1/comm")" = sleep ]
}
not_forked() {
	began=$(now_ms)
	bg "$LEASEHOLD" run -F --ttl "${ttl}ms" k sleep 65
	holder=$pid
	until_true 5000 is_held k
	seen=$(now_ms)
	until_true 5000 is_sleep "$holder"
	who=$(cat "/proc/$holder/comm")/$(holder_pid k)
	until_deadline "$(t_ms 1500)"
}
tries not_forked
is "$who" "sleep/$holder" "-F: the command has our pid, and is the holder"
between "$ends" $((began + ttl - 20)) $((seen + ttl)) "  for its ttl"
is "$kept" 75 "  others are kept out"
is "$status" 0 "  until the deadline"
between "$took" -20 "$(t_ms 1500)" "  which nothing moves"
kill -KILL "$holder"
ended "$holder"
not_forked_dies() {
	bg "$LEASEHOLD" run -F --ttl 60s k sleep 66
	holder=$pid
	until_true 5000 is_held k
	kill -KILL "$holder"
	ended "$holder"
	run lh run -w 20s k true
	is "$status" 0 "-F: freed when the command dies"
}
in_time "$(t_ms 3000)" not_forked_dies
between "$took" 0 "$(t_ms 3000)" "  long before the deadline"
run lh run -F --ttl 60s k sh -c 'exit 7'
is "$status" 7 "-F: the command's status"
ok "  and the key is free" until_true 5000 is_free k
run env LEASEHOLD_LOSS_FD=0 "$LEASEHOLD" run -F --ttl 60s k env
like "$out" "LEASEHOLD_KEY=k" "-F: the environment"
ok "  without a loss descriptor, of which nobody would write" \
    test -z "$(grep LOSS_FD <<<"$out")"
run lh run -F --ttl 60s k "$dir/none"
is "$status" 127 "-F: not found"
run lh run -n k true
is "$status" 0 "  and the key is free"

left=$((covered_since + covered_ttl * 5 / 2 - $(now_ms)))
[ "$left" -le 0 ] || nap "$left"
ok "a command that closed all descriptors is covered while we live" \
    is_held covered
kill -TERM "$covered"
ended "$covered"
is "$status" 143 "  and ends as it does"

finish
