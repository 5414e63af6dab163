#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# `leasehold bench` measures, prints what it says, and leaves no key, session or
# table behind, also when it is interrupted.
#
# Otherwise a measurement in a table of production would stay there, or hold a key.
. "$(dirname "$0")/lib.sh"
table bench

names='pair_handle pair_lock pair_name handover wakeup takeover'

# private_tables: those of all runs, but not of another test's
private_tables() {
	local t

	for t in "/dev/shm/leasehold.$EUID/leasehold-bench.$1."*; do
		[ ! -e "$t" ] || echo "$t"
	done
}

# living_sessions: how many are of a process that is there; records of the dead
# are used again
living_sessions() {
	local p n=0 stat

	for p in $(lh stats --sessions --json | jq '.by_session[].pid'); do
		{ read -r stat <"/proc/$p/stat"; } 2>/dev/null || continue
		[[ $stat = *') Z '* ]] || n=$((n + 1))
	done
	echo "$n"
}

# usable JSON: each figure is above 0, and in order, and each ratio is of the two
# medians
sane='.metrics | all(
    (.samples >= 5) and
    ([.leasehold, .robust_mutex, .flock] | all(
	.best_ns > 0 and .best_ns <= .median_ns and
	(.p99_ns == null or .median_ns <= .p99_ns))) and
    (. as $m | ["robust_mutex", "flock"] | all(
	. as $peer | ($m.leasehold.median_ns / $m[$peer].median_ns) as $r |
	$m.ratio[$peer] > 0.999 * $r and $m.ratio[$peer] < 1.001 * $r)))'

# A private table, and for people.
"$LEASEHOLD" bench --seconds 1 >"$dir/out" 2>"$dir/err" </dev/null &
mind $!
bench=$!
ok "a private table is made" until_true 5000 \
    test -e "/dev/shm/leasehold.$EUID/leasehold-bench.$bench.table"
ended "$bench"
is "$status" 0 "bench: 0"
is "$(<"$dir/err")" "" "  no progress where there is no terminal"
is "$(private_tables "$bench")" "" "  its table is gone"
out=$(<"$dir/out")
for line in 'acquire [+] release, opened key' 'lock [+] unlock, opened key' \
    'acquire [+] release, by name' 'hand-over to a sleeping waiter' \
    'processor time of a hand-over' 'takeover after kill -9'; do
	is "$(grep -cE "^$line +([0-9.]+ (ns|us|ms) +){3}[0-9.]+ +[0-9.]+\$" \
	    <<<"$out")" 1 "  $line"
done
is "$(grep -c '^ *99 of 100' <<<"$out")" 3 "  and three 99th percentiles"
ok "no table by that name" test ! -e "$(object)"

# A table of the user's, with a key that is held.
run lh bench --seconds 1 --table "$LEASEHOLD_TABLE"
is "$status" 1 "no such table: 1"
like "$err" "there is no table '$LEASEHOLD_TABLE'" "  says so"
lh init >/dev/null
bg "$LEASEHOLD" run --ttl 60s mine sleep 150
until_true 5000 is_held mine
run lh bench --seconds 1 --json --table "$LEASEHOLD_TABLE"
is "$status" 0 "bench --json --table: 0"
is "$(jq -c '[.table, .private, .system, .seconds]' <<<"$out")" \
    "[\"$LEASEHOLD_TABLE\",false,false,1]" "  the table"
is "$(jq -c '.machine | map_values(type)' <<<"$out")" \
    '{"processor":"string","cpus":"number","kernel":"string","load":"number"}' \
    "  the machine"
is "$(jq -r '[.metrics[].metric] | join(" ")' <<<"$out")" "$names" \
    "  the metrics"
is "$(jq "$sane" <<<"$out")" true "  each above 0, and the ratios right"
is "$(jq -c '[.metrics[] | has("p99_ns"), (.leasehold | has("p99_ns"))]' \
    <<<"$out")" '[false,false,false,false,false,false,false,true,false,true,false,true]' \
    "  samples have a percentile, averages have none"
is "$(lh list --json | jq -c '[.[].key]')" '["mine"]' "  its keys are gone"
is "$(living_sessions)" 1 "  and its sessions"
run lh fsck
is "$status" 0 "  the table is sound"

# which part the run is in
measures_pair() {
	lh list --json | jq -e 'any(.key | endswith("/pair"))'
}
measures_handover() {
	lh list --json | jq -e 'any(.key | endswith("/relay"))'
}
measures_takeover() {
	lh stats --json | jq -e ".counters.died | tonumber > $died"
}
# the pair takes a third of the time, and the takeover the last two fifths
for how in INT:pair TERM:pair HUP:pair INT:handover TERM:takeover; do
	[ "$how" = TERM:takeover ] && seconds=4 || seconds=3
	died=$(lh stats --json | jq -r .counters.died)
	bg "$LEASEHOLD" bench --seconds $seconds --table "$LEASEHOLD_TABLE" \
	    >"$dir/out"
	bench=$pid
	ok "it measures the ${how#*:}" until_true 60000 "measures_${how#*:}"
	kill -"${how%:*}" "$bench"
	ended "$bench"
	is "$status" $((128 + $(kill -l "${how%:*}"))) "$how: ends by it"
	is "$(<"$dir/out")" "" "  prints nothing"
	is "$(lh list --json | jq -c '[.[].key]')" '["mine"]' \
	    "  its keys are gone"
	is "$(living_sessions)" 1 "  and its sessions"
done
bg "$LEASEHOLD" bench --seconds 10
bench=$pid
until_true 5000 test -e \
    "/dev/shm/leasehold.$EUID/leasehold-bench.$bench.table"
kill -TERM "$bench"
ended "$bench"
is "$(private_tables "$bench")" "" "TERM: the private table is gone"

# Killed: nothing is held; the names stay, and can be removed.
bg "$LEASEHOLD" bench --seconds 3 --table "$LEASEHOLD_TABLE"
bench=$pid
until_true 60000 measures_handover
kill -KILL "$bench"
ended "$bench"
none_held() {
	[ "$(lh list --json | jq '[.[] | select(.key != "mine") |
	    select(.state != "free")] | length')" = 0 ]
}
ok "killed: nothing is held" until_true 5000 none_held
for key in pair relay; do
	run lh destroy "leasehold-bench/$bench/$key"
	is "$status" 0 "  $key is removed by its name"
done
is "$(lh list --json | jq -c '[.[].key]')" '["mine"]' "  nothing else is there"

# Refusals.
table bench-small
lh init --sessions 2 >/dev/null
bg "$LEASEHOLD" run --ttl 60s a sleep 150
until_true 5000 is_held a
run lh bench --seconds 1 --table "$LEASEHOLD_TABLE"
is "$status" 73 "no session is free: 73"
like "$err" "session" "  says so"
is "$out" "" "  prints nothing"
is "$(lh list --json | jq -c '[.[].key]')" '["a"]' "  leaves nothing"
if [ "$EUID" = 0 ]; then
	run lh bench --system --table none-such.$$
	is "$status" 1 "--system: another place"
	like "$err" "there is no table" "  says so"
	lh init --system --table "$LEASEHOLD_TABLE" >/dev/null
	run as 65534 "$LEASEHOLD" bench --system --table "$LEASEHOLD_TABLE"
	is "$status" 77 "a table of others: 77"
	like "$err" "cannot measure in table '$LEASEHOLD_TABLE'" "  says so"
else
	skip "needs root" "a table of others"
fi
run lh bench --system
is "$status" 64 "--system alone: 64"
like "$err" "--system needs --table" "  says so"
for bad in '--seconds 0' '--seconds 601' '--seconds x' 'key'; do
	# shellcheck disable=SC2086
	run lh bench $bad
	is "$status" 64 "bench $bad: 64"
done

# On a terminal it says how far it is, and erases that.
script -qec "$LEASEHOLD bench --seconds 1" /dev/null >"$dir/out" </dev/null
is "${PIPESTATUS[0]}" 0 "on a terminal: 0"
like "$(<"$dir/out")" "measuring the pair, 0 of about 1 s" "  progress"
like "$(<"$dir/out")" $'\r\e[K' "  is erased"
# Two pid namespaces have the same process ids.
if unshare -pf --mount-proc true 2>/dev/null; then
	other() {
		unshare -pf --kill-child --mount-proc "$LEASEHOLD" bench \
		    --seconds 1 </dev/null >"$dir/$1" 2>&1
	}
	other one &
	one=$!
	other two
	is "$?" 0 "a run in another pid namespace, with the same process id"
	wait "$one"
	is "$?" 0 "  and the one beside it"
fi
finish
