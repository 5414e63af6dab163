#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Guarantees G3 and G9, timing T7: a lease outlives its ttl while run renews it.
# If run is stopped, others get the key at the deadline, and when it continues,
# the whole tree of its command is ended.
#
# Otherwise a job would work beside the next holder.
. "$(dirname "$0")/lib.sh"
table loss
ttl=$(t_ms 2000)

hold() {	# hold OPTIONS... KEY COMMAND...
	bg "$LEASEHOLD" run --ttl "${ttl}ms" "$@" 2>"$dir/log"
	holder=$pid
	until_true 5000 is_held k || diag "nobody holds k"
	begun "$holder"
}

# hold_stopped OPTIONS... KEY COMMAND...: and stopped before it has lost anything
# (tries)
hold_stopped() {
	hold "$@"
	kill -STOP "$holder"
	until_true 5000 is_stopped "$holder"
	[ ! -s "$dir/log" ] && return
	kill -TERM "$command"
	kill -CONT "$holder"
	ended "$holder"
	return 1
}

# stopped: the holder is stopped until another has had the key
stopped() {
	kill -STOP "$holder"
	until_true 5000 is_stopped "$holder"
	run lh run -w "$((ttl + 10000))ms" k true
}

# Renewed, stopped in time, stopped for too long with something to tidy up: on
# keys of their own, which are looked at in the end (what has to be in time has
# seconds for it).
long=$(t_ms 6000)
until_ms() {	# until_ms KEY: its lease's end, since 1970
	lh status --json "$1" | jq -r '.holders[0].expires_ms // 0'
}
nap_until() {	# nap_until MS: since 1970
	local left=$(($1 - $(now_ms)))

	[ "$left" -le 0 ] || nap "$left"
}
bg "$LEASEHOLD" run --ttl "${long}ms" renewed sleep 150
renewed=$pid
until_true 5000 is_held renewed
renewed_until=$(until_ms renewed)
bg "$LEASEHOLD" run --ttl "$((2 * long))ms" continued sleep 150
continued=$pid
until_true 5000 is_held continued
begun "$continued"
continued_until=$(until_ms continued)
kill -STOP "$continued"
for what in tidies sleeps; do
	bg "$LEASEHOLD" run --ttl "$((2 * long))ms" $what bash -c "
	    trap 'echo told >$dir/$what.told; exit 0' TERM
	    echo \$\$ >$dir/$what; while :; do read -r -t 0.05 <>$dir/naps; done"
	eval "$what=$pid"
	until_true 5000 test -s "$dir/$what"
	[ $what = tidies ] || kill -STOP "$(cat "$dir/sleeps")"
	kill -STOP "$pid"
done
stopped_until=$(until_ms sleeps)

# Stopped past the deadline.
past_deadline() {
	rm -f "$dir"/{pid,apart,orphan,deaf}
	hold k bash -c 'echo $$ >'"$dir/pid"'
	    setsid sleep 61 & echo $! >'"$dir/apart"'
	    bash -c "trap \"\" TERM; echo \$\$ >'"$dir/deaf"'
		while :; do read -r -t 0.1 <>'"$dir/naps"'; done" &
	    (sleep 62 & echo $! >'"$dir/orphan"')
	    wait'
	until_true 5000 test -s "$dir/deaf"
	until_true 5000 test -s "$dir/orphan"
	for f in pid apart deaf orphan; do
		mind "$(cat "$dir/$f")"
	done
	stopped
	is "$status" 0 "we are stopped: others get the key"
	at_deadline=$took
	ok "  (the command runs on: only its token fences it)" \
	    kill -0 "$(cat "$dir/pid")"
	kill -CONT "$holder"
	began=$(now_ms)
	ended "$holder"
	took=$(($(now_ms) - began))
	is "$status" 76 "continued: 76"
	[ "$at_deadline" -le $((ttl + $(t_ms 1000))) ] &&
	    [ "$took" -le "$(t_ms 2500)" ]
}
tries past_deadline
between "$at_deadline" 0 $((ttl + $(t_ms 1000))) "  it was at the deadline"
between "$took" 0 "$(t_ms 2500)" "  and this soon"
ok "  the command has ended" gone "$(cat "$dir/pid")"
ok "  also what left its session" gone "$(cat "$dir/apart")"
ok "  also what had lost its parent" gone "$(cat "$dir/orphan")"
ok "  also what ignores TERM" gone "$(cat "$dir/deaf")"
like "$(cat "$dir/log")" "the lease on 'k' is lost" "  says what was lost"

# The one that is continued in time: later than its renewal was due, at a third.
nap_until $((continued_until - 2 * long * 7 / 12))
kill -CONT "$continued"

# Stopped past the deadline, and nobody came: lost all the same (G3).
hold k sleep 150
kill -STOP "$holder"
nap $((ttl + 200))
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "lost also when nobody has taken it"

# --lost-exit-code, --on-loss
for n in 5 0; do
	hold --lost-exit-code $n k sleep 150
	stopped
	kill -CONT "$holder"
	ended "$holder"
	is "$status" $n "--lost-exit-code $n"
done
rm -f "$dir/up"
tries hold_stopped --on-loss warn k bash -c "until [ -e $dir/end ]; do sleep 0.05; done
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

# The command gets the signal.
tries hold_stopped --on-loss warn k bash -c '
    rm -f '"$dir/told"'
    read -r -u "$LEASEHOLD_LOSS_FD"; echo told >'"$dir/told"
stopped
ok "LEASEHOLD_LOSS_FD is silent while we are stopped" test ! -e "$dir/told"
kill -CONT "$holder"
ended "$holder"
ok "LEASEHOLD_LOSS_FD is readable after the loss" test -s "$dir/told"

# The command ended while we were stopped.
tries hold_stopped k bash -c "until [ -e $dir/go ]; do sleep 0.05; done
    exit 4"
touch "$dir/go"
until_true 5000 gone "$command"
stopped
kill -CONT "$holder"
ended "$holder"
is "$status" 76 "ended while we were stopped, and others had the key: 76"
like "$(cat "$dir/log")" "lost before the command ended" "  and why"

# The whole group is stopped (^Z), the command too: it must not run on.
hold k bash -c 'echo $$ >'"$dir/pid"'; while :; do echo "$EPOCHREALTIME" >'"$dir/beat"'
    read -r -t 0.02 <>'"$dir/naps"'; done'
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

# Now those that have had their time.
nap_until $((renewed_until + 3 * long / 2))
ok "a lease of 6 s is held after 15 s" is_held renewed
ok "  its deadline has moved on" \
    [ "$(until_ms renewed)" -gt $((renewed_until + 3 * long / 2)) ]
run lh run -n renewed true
is "$status" 75 "  others are kept out"
kill -TERM "$renewed"
ended "$renewed"
is "$status" 143 "  until it ends"
nap_until $((stopped_until + 200))
for what in tidies sleeps; do
	run lh run -w "$((ttl + 10000))ms" $what true
	is "$status" 0 "stopped for too long: others get it"
	kill -CONT "${!what}"
	ended "${!what}"
	is "$status" 76 "a command that catches TERM can tidy up: 76"
	ok "  and did" test -s "$dir/$what.told"
done
ok "  also one that was stopped itself, and is continued so that it hears it" \
    test -s "$dir/sleeps.told"
nap_until $((continued_until + long / 3))
ok "continued in time: it is still held" is_held continued
kill -TERM "$continued"
ended "$continued"
is "$status" 143 "  and nothing was lost"

finish
