#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Metrics: every client that connects gets them, in each form of request.  One
# that misbehaves harms no other.
watch_s=300
. "$(dirname "$0")/lib.sh"
table metrics

client() {
	python3 "$here/client.py" "$socket" "$@"
}

reaperd
served
bg "$LEASEHOLD" run -F --ttl 600s k sleep 600
until_true 5000 state_is k held
for how in http plain shut "word hello"; do
	# shellcheck disable=SC2086
	run client $how
	like "$out" "leasehold_reaper_serving{table=\"$LEASEHOLD_TABLE\"} 1" \
	    "$how: the metrics"
	is "$(grep -c '^# TYPE leasehold_reaper_serving gauge' <<<"$out")" 1 \
	    "  once"
done
is "$(client get /metrics | tr -d '\r')" "HTTP/1.0 200 OK" "GET /metrics: 200"
is "$(client get / | tr -d '\r')" "HTTP/1.0 200 OK" "GET /: 200"
is "$(client get /etc/passwd | tr -d '\r')" "HTTP/1.0 404 Not Found" \
    "another path: 404"
is "$(stat -c %a "$socket")" 660 "the socket is for its user and group"

# Every line is one of the format's, every sample of a declared family.
metrics >"$dir/metrics"
is "$(grep -cvE '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[^}]*\})? [-+.e0-9]+)$' \
    "$dir/metrics")" 0 "the exposition format"
is "$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$dir/metrics" | sort | uniq -d)" \
    "" "no family twice"
samples=$(grep -v '^#' "$dir/metrics" | sed 's/[{ ].*//' | uniq)
is "$(sort <<<"$samples" | uniq -d)" "" "samples of a family stand together"

# The table's own counters, as the command shows them.
lh run sum true
ok "the table's own counters" until_true 2000 metric_is \
    leasehold_acquisitions_total 2
is "$(metric leasehold_keys)" 2 "  its keys"
lh stats --prometheus | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | sort \
    >"$dir/families"
ok "  and all that leasehold stats tells" test -s "$dir/families"
is "$(comm -23 "$dir/families" <(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' \
    "$dir/metrics" | sort))" "" "  all of it"
like "$(lh stats)" "reaper    $daemon, which last ran" \
    "leasehold stats shows the daemon"
is "$(lh stats --json | jq .reaper_pid)" "$daemon" "  as JSON"

# What is counted.
ok "living sessions" until_true 5000 metric_is leasehold_reaper_sessions 1
kill -KILL "$pid"
ended "$pid"
ok "the dead" until_true 5000 metric_is leasehold_reaper_buried_total 1
bg "$LEASEHOLD" run -F --ttl "$(t_ms 300)ms" k sleep 60
ok "expiries" until_true 5000 has_ended 1
passes() {
	p=$(metric leasehold_reaper_passes_total)
	settle
	q=$(metric leasehold_reaper_passes_total)
	[ $((q - p)) -ge 10 ] && [ $((q - p)) -le 1500 ]
}
ok "passes: about 20 a second" tries 3 passes
diag "$((q - p)) passes"

# Hostile readers.  The sweep goes on, and the next reader gets its text.
buried=1
all_is_well() {
	run timeout 10 python3 "$here/client.py" "$socket" http
	like "$out" "leasehold_reaper_serving" "$1: another reader is served"
	bg "$LEASEHOLD" run -F --ttl 60s k sleep 60
	until_true 5000 state_is k held
	kill -KILL "$pid"
	ended "$pid"
	buried=$((buried + 1))
	ok "  and the dead are buried" until_true 2000 state_is k free
	ok "  by the daemon" until_true 2000 metric_is \
	    leasehold_reaper_buried_total "$buried"
}
bg python3 "$here/client.py" "$socket" drip >"$dir/drip"
drip=$pid
run client endless
is "$out" "hung up on" "a request without end: hung up on"
bg python3 "$here/client.py" "$socket" crowd 200 >"$dir/crowd"
crowd=$pid
until_true 10000 grep -q there "$dir/crowd"
all_is_well "200 who never finish their request"
kill -KILL "$crowd"
bg python3 "$here/client.py" "$socket" deaf 100 >"$dir/deaf"
until_true 10000 grep -q there "$dir/deaf"
all_is_well "100 who never read"
bg python3 "$here/client.py" "$socket" flood 0.5 >/dev/null
all_is_well "a flood of readers"
ended "$drip"
is "$(cat "$dir/drip")" "hung up on" "a byte now and then: hung up on"
fds=$(ls "/proc/$daemon/fd" | wc -l)
between "$fds" 3 60 "no descriptors are left over"

# The socket's name is taken away: no harm; a reload puts it there again.
rm "$socket"
settle
ok "without its name the daemon goes on" kill -0 "$daemon"
kill -TERM "$daemon"
ended "$daemon"
is "$status" 0 "ends with 0"

# No descriptors left: the sweep goes on, and nobody is busy with refusing.
reaperd
until_true 2000 metric_is leasehold_reaper_serving 1
n=0
while [ -e "/proc/$daemon/fd/$n" ]; do
	n=$((n + 1))
done
prlimit --pid "$daemon" --nofile="$n:"
bg python3 "$here/client.py" "$socket" crowd 1 >"$dir/late"
until_true 10000 grep -q there "$dir/late"
cpu() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$daemon/stat"
}
a=$(cpu)
sleep 0.5
b=$(cpu)
between $((b - a)) 0 5 "no descriptor for a reader: $((b - a)) ticks in 0.5 s"
prlimit --pid "$daemon" --nofile=1000:
ok "  and when there is one, the reader gets its text" until_true 3000 metric_is \
    leasehold_reaper_serving 1
kill -TERM "$daemon"
ended "$daemon"

LEASEHOLD_REAPERD_METRICS=off reaperd
ok "off: no socket" test ! -e "$socket"

finish
