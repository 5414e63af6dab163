#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold` itself is killed: its command dies with it, and the key is free
# then, unless a descendant kept the liveness descriptor: then at the deadline.
. "$(dirname "$0")/lib.sh"
table killed

# The command dies with us, and the key is free at once.
bg "$LEASEHOLD" run --ttl 60s k sleep 60
holder=$pid
until_true 5000 is_held k
command=$(pgrep -P "$holder")
mind "$command"
kill -KILL "$holder"
ok "the command dies with us" until_true 5000 gone "$command"
run lh run -w 20s k true
is "$status" 0 "  and the key can be had"
between "$took" 0 "$(t_ms 3000)" "  long before the deadline"

# A grandchild that keeps the liveness descriptor keeps the key, until the
# deadline.
ttl=$(t_ms 3000)
began=$(now_ms)
bg "$LEASEHOLD" run --ttl "${ttl}ms" k bash -c \
    "sleep 61 & echo \$! >$dir/grandchild; wait"
holder=$pid
until_true 5000 test -s "$dir/grandchild"
grandchild=$(cat "$dir/grandchild")
mind "$grandchild"
kill -KILL "$holder"
killed=$(now_ms)
sleep 0.3
ok "a grandchild outlives us" kill -0 "$grandchild"
run lh run -n k true
is "$status" 75 "  and keeps the key"
run lh run -w "$((ttl + 10000))ms" k true
is "$status" 0 "  until the deadline"
between $(($(now_ms) - began)) $((ttl - 100)) \
    $((ttl + killed - began + $(t_ms 1000))) "  and not longer"
ok "  though it still lives" kill -0 "$grandchild"
kill -KILL "$grandchild"

# One that has let go of it does not.
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
between "$took" 0 "$(t_ms 3000)" "  freed long before the deadline"
ok "  though it still lives" kill -0 "$grandchild"
kill -KILL "$grandchild"

# While we live, a command that closes everything loses nothing.
bg "$LEASEHOLD" run --ttl "$(t_ms 1000)ms" k bash -c '
    for f in /proc/$$/fd/*; do
	f=${f##*/}
	[ "$f" -lt 3 ] || [ "$f" = 255 ] || eval "exec $f>&-"
    done
    sleep 63'
holder=$pid
until_true 5000 is_held k
nap "$(t_ms 2500)"
ok "a command that closed all descriptors is covered while we live" is_held k
kill -TERM "$holder"
ended "$holder"

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
began=$(now_ms)
ttl=$(t_ms 3000)
bg "$LEASEHOLD" run -F --ttl "${ttl}ms" k sleep 65
holder=$pid
until_true 5000 is_held k
is "$(cat "/proc/$holder/comm")" sleep "-F: the command has our pid"
is "$(holder_pid k)" "$holder" "  and is the holder"
run lh run -n k true
is "$status" 75 "  others are kept out"
run lh run -w "$((ttl + 10000))ms" k true
is "$status" 0 "  until the deadline"
between $(($(now_ms) - began)) $((ttl - 100)) $((ttl + $(t_ms 1500))) \
    "  which nothing moves"
kill -KILL "$holder"
ended "$holder"
bg "$LEASEHOLD" run -F --ttl 60s k sleep 66
holder=$pid
until_true 5000 is_held k
kill -KILL "$holder"
ended "$holder"
run lh run -w 20s k true
is "$status" 0 "-F: freed when the command dies"
between "$took" 0 "$(t_ms 3000)" "  long before the deadline"
run lh run -F --ttl 60s k sh -c 'exit 7'
is "$status" 7 "-F: the command's status"
ok "  and the key is free" until_true 5000 is_free k
run env LEASEHOLD_LOSS_FD=0 "$LEASEHOLD" run -F --ttl 60s k env
like "$out" "LEASEHOLD_KEY=k" "-F: the environment"
ok "  without a loss descriptor, of which nobody would write" \
    test -z "$(grep LOSS_FD <<<"$out")"
run lh run -F --ttl 60s k /nonexistent
is "$status" 127 "-F: not found"
run lh run -n k true
is "$status" 0 "  and the key is free"

finish
