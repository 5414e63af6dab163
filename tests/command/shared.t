#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Guarantee G1, `run -s`: readers share a key with each other and with no
# writer.
#
# Otherwise a job would read data that another job is writing.
. "$(dirname "$0")/lib.sh"
table shared

# reader [OPTION...]: one more holds k, until $pid is ended
reader() {
	local n

	n=$(holders k)
	bg "$LEASEHOLD" run -s --ttl 60s "$@" k sleep 150
	until_true 5000 has_holders k $((n + 1)) || diag "no further reader"
}

end() {
	local p

	for p in "$@"; do
		kill -TERM "$p"
		ended "$p"
	done
}

run lh run k true
is "$status" 0 "the key is made"

# These are looked at in the end, after their ttl.
ttl=$(t_ms 6000)
renewed_since=$(now_ms)
bg "$LEASEHOLD" run -s --ttl "${ttl}ms" renewed sleep 150
r6=$pid
bg "$LEASEHOLD" run -s --ttl "${ttl}ms" renewed sleep 150
r7=$pid

# Together.
reader
r1=$pid
reader
r2=$pid
is "$(holders k)" 2 "two run -s hold one key together"
for o in "-s -n" "--shared -w 0" "-s -w 5s"; do
	# shellcheck disable=SC2086
	run lh run $o k echo in
	is "$status/$out" 0/in "  a third comes in with $o"
done

# Readers keep writers out.
for o in "" -x --exclusive "-s -x"; do
	# shellcheck disable=SC2086
	in_time "$(t_ms 1000)" run lh run -n $o k touch "$dir/ran"
	is "$status" 75 "a writer's try while readers hold: 75 ($o)"
	between "$took" 0 "$(t_ms 1000)" "  at once"
done
like "$err" "no exclusive lease: " "  says what was asked for"
like "$err" "'k'" "  the key"
like "$err" "2 readers" "  how many hold it"
ok "  and names one of them" grep -qE "($r1|$r2)" "$dir/err"
is "$(wc -l <"$dir/err")" 1 "  in one line"
run lh run -n -E 9 k true
is "$status" 9 "  or what -E says"
in_time $((400 + $(t_ms 500))) run lh run -x -w 400ms k touch "$dir/ran"
is "$status" 75 "a writer's wait: 75"
between "$took" 400 $((400 + $(t_ms 500))) "  never before its time is up"
is "$(waiters k)" 0 "  it leaves no waiter behind"
ok "  its command was not run" test ! -e "$dir/ran"
run lh run -s -n k true
is "$status" 0 "  and no reader is kept out by it any more"

# A writer gets it when the last reader has gone, and not before.
bg "$LEASEHOLD" run -v -w 150s k sh -c "echo \$LEASEHOLD_FENCE >$dir/x" \
    2>"$dir/log"
writer=$pid
until_true 5000 has_waiters k 1
until_true 5000 grep -q waiting "$dir/log"
like "$(cat "$dir/log")" \
    "waiting for 'k' (exclusive): held by 2 readers, one of them sleep[$r1]" \
    "-v says how many hold it, and names one"
end "$r1"
nap 200
ok "one of two readers has gone: the writer waits" test ! -e "$dir/x"
is "$(holders k)/$(holder_pid k)" "1/$r2" "  for the other one"
end "$r2"
ended "$writer"
is "$status" 0 "both have gone: it is granted"
ok "  and runs" test -s "$dir/x"
like "$(cat "$dir/log")" "holding 'k' (exclusive) with token" "  -v says so"

# A reader dies: freed without waiting for its deadline; the other stays.
killed_readers() {
	local began

	reader
	r1=$pid
	reader
	r2=$pid
	bg "$LEASEHOLD" run -w 150s k true
	writer=$pid
	until_true 5000 has_waiters k 1
	kill -KILL "$r1"
	ended "$r1"
	ok "a killed reader holds no more" until_true 5000 has_holders k 1
	is "$(holder_pid k)" "$r2" "  the other one does"
	is "$(waiters k)" 1 "  for which the writer waits"
	began=$(now_ms)
	kill -KILL "$r2"
	ended "$writer"
	took=$(($(now_ms) - began))
	is "$status" 0 "the last reader is killed: the writer gets it"
}
in_time "$(t_ms 3000)" killed_readers
between "$took" 0 "$(t_ms 3000)" "  long before the deadline"

# A writer keeps readers out.
bg "$LEASEHOLD" run --ttl 60s k sleep 150
writer=$pid
until_true 5000 is_held k
run lh run -s -n k touch "$dir/ran"
is "$status" 75 "a reader's try while a writer holds: 75"
like "$err" "no shared lease: " "  says what was asked for"
like "$err" "process $writer (sleep)" "  names the writer"
in_time $((400 + $(t_ms 500))) run lh run -s -w 400ms k touch "$dir/ran"
is "$status" 75 "a reader's wait: 75"
between "$took" 400 $((400 + $(t_ms 500))) "  never before its time is up"
ok "  nothing was run" test ! -e "$dir/ran"

# Readers in a row are let in together.
readers=()
for i in 1 2 3; do
	bg "$LEASEHOLD" run -s --ttl 60s -w 150s k sleep 150
	readers+=("$pid")
	until_true 5000 has_waiters k $i || diag "no $i waiters"
done
bg "$LEASEHOLD" run -v -s -w 150s k true 2>"$dir/log"
fourth=$pid
until_true 5000 grep -q waiting "$dir/log"
like "$(cat "$dir/log")" "waiting for 'k' (shared): held by sleep[$writer] for" \
    "-v of a reader names the writer"
like "$(cat "$dir/log")" "4 of 4 in line" "  and its own place"
end "$writer"
ok "the writer ends: three readers enter together" \
    until_true 5000 has_holders k 3
ended "$fourth"
is "$status" 0 "  and so does the fourth"
like "$(cat "$dir/log")" "holding 'k' (shared) with token" "  -v says so"

# A writer in line bars readers that come later, unless they are more urgent.
bg "$LEASEHOLD" run -w 150s k true
writer=$pid
until_true 5000 has_waiters k 1
run lh run -s -n k true
is "$status" 75 "a writer in line: a later reader is kept out"
like "$err" "the writer true[$writer] goes first" "  with the reason"
bg "$LEASEHOLD" run -v -s -w 150s k true 2>"$dir/log"
late=$pid
until_true 5000 grep -q waiting "$dir/log"
like "$(cat "$dir/log")" "held by 3 readers, one of them sleep[" \
    "  -v: who holds it"
like "$(cat "$dir/log")" "the writer true[$writer] goes first; 2 of 2 in line" \
    "  -v: who goes first"
run lh run -s -n --priority 1 k true
is "$status" 0 "  one of higher priority comes in"
end "${readers[@]}"
ended "$writer"
is "$status" 0 "  the writer is served"
ended "$late"
is "$status" 0 "  then the reader"

# Tokens: a reader's is not below an earlier writer's and below a later one's.
fence() {
	lh run "$@" k sh -c 'echo "$LEASEHOLD_FENCE"'
}
x1=$(fence -x)
bg "$LEASEHOLD" run -s k sh -c "echo \$LEASEHOLD_FENCE >$dir/s1; sleep 150"
r1=$pid
until_true 5000 test -s "$dir/s1"
s1=$(cat "$dir/s1")
s2=$(fence -s)
end "$r1"
x2=$(fence -x)
ok "readers' tokens are not below an earlier writer's" \
    [ "$s1" -ge "$x1" -a "$s2" -ge "$x1" ]
ok "  and below a later one's" [ "$s1" -lt "$x2" -a "$s2" -lt "$x2" ]

# -F, -c
bg "$LEASEHOLD" run -s -F --ttl 60s k sleep 150
r1=$pid
until_true 5000 is_held k
run lh run -s -n k -c 'echo $LEASEHOLD_MODE'
is "$status/$out" 0/shared "beside a reader with -F, with -c after the key"
run lh run -n k true
is "$status" 75 "  which keeps writers out"
kill -KILL "$r1"
ended "$r1"
run lh run -w 20s k true
is "$status" 0 "  until it dies"

# Exclusion: writers change two files one after the other, readers see no
# difference between them.
echo 0 >"$dir/a"
echo 0 >"$dir/b"
pids=()
for _ in 1 2; do
	bg bash -c 'for i in 1 2 3 4 5 6 7 8; do
		"$LEASEHOLD" run count sh -c "
		    n=\$((\$(cat $0/a) + 1)); echo \$n >$0/a; echo \$n >$0/b" ||
		    exit 1
	done' "$dir"
	pids+=("$pid")
done
for _ in 1 2 3 4; do
	bg bash -c 'for i in 1 2 3 4 5 6 7 8; do
		"$LEASEHOLD" run -s count cmp -s "$0/a" "$0/b" || exit 1
	done' "$dir"
	pids+=("$pid")
done
bad=0
for p in "${pids[@]}"; do
	ended "$p"
	[ "$status" = 0 ] || bad=$((bad + 1))
done
is "$bad" 0 "readers beside writers never see a half-done change"
is "$(cat "$dir/a")/$(cat "$dir/b")" 16/16 "  and no turn is lost"

# Renewed like any lease; lost at the deadline when we are stopped.
left=$((renewed_since + ttl * 5 / 2 - $(now_ms)))
[ "$left" -le 0 ] || nap "$left"
is "$(holders renewed)" 2 "two shared leases of 6 s are held after 15 s"
kill -STOP "$r6"
until_true 5000 is_stopped "$r6"
ok "one is stopped: it has lost at its deadline" \
    until_true $((ttl + 5000)) has_holders renewed 1
is "$(holder_pid renewed)" "$r7" "  the other one has not"
kill -CONT "$r6"
ended "$r6"
is "$status" 76 "  continued: 76"
is "$(holders renewed)" 1 "  the other one is not concerned"
end "$r7"
is "$status" 143 "  until it ends"

finish
