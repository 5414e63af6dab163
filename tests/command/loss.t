#!/bin/bash
# SPDX-License-Identifier: MIT
# The lease outlives its ttl while we renew it; where we cannot, because we are
# stopped, others get the key at the deadline, and when we are continued the
# whole tree of the command is ended.
. "$(dirname "$0")/lib.sh"
table loss
ttl=$(t_ms 1000)

hold() {	# hold OPTIONS... KEY COMMAND...
	bg "$LEASEHOLD" run --ttl "${ttl}ms" "$@" 2>"$dir/log"
	holder=$pid
	until_true 5000 is_held k || diag "nobody holds k"
}

# stopped: the holder is stopped until another has had the key
stopped() {
	kill -STOP "$holder"
	until_true 5000 is_stopped "$holder"
	run lh run -w "$((ttl + 10000))ms" k true
}

# Renewal.
hold k sleep 60
first=$(lh status --json k | jq -r '.holders[0].expires_ms')
nap $((ttl * 35 / 10))
ok "a lease of 1 s is held after 3.5 s" is_held k
last=$(lh status --json k | jq -r '.holders[0].expires_ms')
ok "  its deadline has moved on" [ "$last" -gt "$((first + 2 * ttl))" ]
run lh run -n k true
is "$status" 75 "  others are kept out"
kill -TERM "$holder"
ended "$holder"
is "$status" 143 "  until it ends"

# Stopped past the deadline.
hold k bash -c 'echo $$ >'"$dir/pid"'
    setsid sleep 61 & echo $! >'"$dir/apart"'
    bash -c "trap \"\" TERM; echo \$\$ >'"$dir/deaf"'; while :; do sleep 0.1; done" &
    (sleep 62 & echo $! >'"$dir/orphan"')
    wait'
until_true 5000 test -s "$dir/deaf"
until_true 5000 test -s "$dir/orphan"
for f in pid apart deaf orphan; do
	mind "$(cat "$dir/$f")"
done
stopped
is "$status" 0 "we are stopped: others get the key"
between "$took" 0 $((ttl + $(t_ms 1000))) "  at the deadline"
ok "  (the command runs on: only its token fences it)" \
    kill -0 "$(cat "$dir/pid")"
kill -CONT "$holder"
began=$(now_ms)
ended "$holder"
is "$status" 76 "continued: 76"
between $(($(now_ms) - began)) 0 "$(t_ms 2500)" "  soon"
ok "  the command has ended" gone "$(cat "$dir/pid")"
ok "  also what left its session" gone "$(cat "$dir/apart")"
ok "  also what had lost its parent" gone "$(cat "$dir/orphan")"
ok "  also what ignores TERM" gone "$(cat "$dir/deaf")"
like "$(cat "$dir/log")" "the lease on 'k' is lost" "  says what was lost"

# Stopped past the deadline, and nobody came: lost all the same (G3).
hold k sleep 60
kill -STOP "$holder"
nap $((ttl + 200))
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "lost also when nobody has taken it"

# --lost-exit-code, --on-loss
for n in 5 0; do
	hold --lost-exit-code $n k sleep 60
	stopped
	kill -CONT "$holder"
	ended "$holder"
	is "$status" $n "--lost-exit-code $n"
done
rm -f "$dir/up"
hold --on-loss warn k bash -c "until [ -e $dir/end ]; do sleep 0.05; done
    echo up >$dir/up; exit 3"
stopped
kill -CONT "$holder"
until_true 5000 grep -q "goes on without it" "$dir/log"
ok "--on-loss warn: says so" grep -q "goes on without it" "$dir/log"
nap $((ttl / 2))
ok "  the command goes on" kill -0 "$holder"
ok "  without the key" is_free k
run lh run -n k true
is "$status" 0 "  which is not taken back"
touch "$dir/end"
ended "$holder"
ok "  the command ends by itself" test -s "$dir/up"
is "$status" 76 "  and 76 says that it was not covered to its end"
is "$(wc -l <"$dir/log")" 1 "  one line, one loss"

# The command is told.
rm -f "$dir/told"
hold --on-loss warn k bash -c '
    read -r -u "$LEASEHOLD_LOSS_FD"; echo told >'"$dir/told"
stopped
ok "LEASEHOLD_LOSS_FD is silent while we are stopped" test ! -e "$dir/told"
kill -CONT "$holder"
ended "$holder"
ok "LEASEHOLD_LOSS_FD is readable after the loss" test -s "$dir/told"
rm -f "$dir/told"
hold k bash -c "trap 'echo told >$dir/told; exit 0' TERM
    echo up >$dir/up2; while :; do sleep 0.05; done"
until_true 5000 test -s "$dir/up2"
stopped
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "a command that catches TERM can tidy up: 76"
ok "  and did" test -s "$dir/told"

# The command ended while we were stopped.
rm -f "$dir/up2"
hold k bash -c "echo up >$dir/up2; sleep 0.2; exit 4"
until_true 5000 test -s "$dir/up2"
stopped
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "ended while we were stopped, and others had the key: 76"
like "$(cat "$dir/log")" "lost before the command ended" "  and why"

# Stopped, but continued in time.
ttl=$(t_ms 4000)
hold k sleep 60
kill -STOP "$holder"
nap $((ttl / 2))
kill -CONT "$holder"
nap $((ttl * 7 / 10))
ok "continued in time: it is still held" is_held k
kill -TERM "$holder"
ended "$holder"
is "$status" 143 "  and nothing was lost"

# The whole group is stopped (^Z), the command too: it must not run on.
ttl=$(t_ms 1000)
hold k bash -c 'echo $$ >'"$dir/pid"'; while :; do date +%s%3N >'"$dir/beat"'
    sleep 0.02; done'
until_true 5000 test -s "$dir/beat"
command=$(cat "$dir/pid")
kill -STOP "$command" "$holder"
until_true 5000 is_stopped "$holder"
run lh run -w "$((ttl + 10000))ms" k true
is "$status" 0 "command and we are stopped: others get the key"
last=$(cat "$dir/beat")
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "  we are continued: 76"
ok "  the stopped command has ended" gone "$command"
is "$(cat "$dir/beat")" "$last" "  and has not done another step"

# Stopped as well, but with something to tidy up.
rm -f "$dir/told" "$dir/up2"
ttl=$(t_ms 3000)
hold k bash -c "trap 'echo told >$dir/told; exit 0' TERM
    echo \$\$ >$dir/up2; while :; do sleep 0.02; done"
until_true 5000 test -s "$dir/up2"
kill -STOP "$(cat "$dir/up2")"
stopped
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "a stopped command that catches TERM: 76"
ok "  it is continued so that it hears it" test -s "$dir/told"

finish
