#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G8: a `run` inside a `run`: on another key it works, on the same key
# it would wait for itself, and fails at once with that reason.
#
# Otherwise a nested script would hang on its own lock.
. "$(dirname "$0")/lib.sh"
table nested

run lh run a "$LEASEHOLD" run b "$LEASEHOLD" run c echo all three
is "$status/$out" "0/all three" "three keys, one in the other"

in_time "$(t_ms 2000)" \
    run lh run a "$LEASEHOLD" run -w 30s a touch "$dir/ran"
is "$status" 75 "the same key: 75"
between "$took" 0 "$(t_ms 2000)" "  at once"
like "$err" "it would wait for itself" "  says why"
ok "  nothing was run" test ! -e "$dir/ran"
in_time "$(t_ms 2000)" \
    run lh run a "$LEASEHOLD" run b "$LEASEHOLD" run -w 30s a true
is "$status" 75 "the same key further out: 75"
between "$took" 0 "$(t_ms 2000)" "  at once"
run lh run a "$LEASEHOLD" run -E 8 -w 30s a true
is "$status" 8 "  or what -E says"
run lh run a sh -c '"$LEASEHOLD" run -F --ttl 9s -w 30s a true'
is "$status" 75 "  also with -F"
run lh run -F --ttl 20s a "$LEASEHOLD" run -w 30s a true
is "$status" 75 "  also under -F"

# Shared.
run lh run -s a "$LEASEHOLD" run -s -w 30s a echo both
is "$status/$out" 0/both "shared inside shared, on the same key"
run lh run -s a "$LEASEHOLD" run -s a "$LEASEHOLD" run -n -s a echo three
is "$status/$out" 0/three "  three deep"
for modes in "-s -x" "-x -s"; do
	# shellcheck disable=SC2086
	set -- $modes
	in_time "$(t_ms 2000)" run lh run "$1" a \
	    "$LEASEHOLD" run "$2" -w 30s a touch "$dir/ran"
	is "$status" 75 "$2 inside $1: 75"
	between "$took" 0 "$(t_ms 2000)" "  at once"
	like "$err" "it would wait for itself" "  says why"
done
like "$err" "held (exclusive) by the command" "  and how it is held"
run lh run -s a "$LEASEHOLD" run -s a "$LEASEHOLD" run -w 30s a true
is "$status" 75 "exclusive inside two shared ones: 75"

# The writer that bars readers waits for the outer one: no reason to wait.
barred() {	# barred PRIORITY: of the writer that waits
	rm -f "$dir/go"
	bg "$LEASEHOLD" run -s a sh -c "until [ -e $dir/go ]; do sleep 0.05
	    done; \"\$LEASEHOLD\" run -s -w 30s a echo inner" \
	    >"$dir/inner" 2>"$dir/log"
	outer=$pid
	until_true 5000 is_held a
	bg "$LEASEHOLD" run --priority "$1" -w 150s a true
	writer=$pid
	until_true 5000 has_waiters a 1
	began=$(now_ms)
	touch "$dir/go"
	ended "$outer"
	took=$(($(now_ms) - began))
	outer=$status
	ended "$writer"
	writer=$status
	status=$outer
}
in_time "$(t_ms 2000)" barred 0
is "$status/$(cat "$dir/inner")" 0/inner "shared inside shared passes a writer"
between "$took" 0 "$(t_ms 2000)" "  at once"
is "$writer" 0 "  which is served then"
in_time "$(t_ms 2000)" barred 4294967295
is "$status" 75 "not one of the highest priority: 75"
between "$took" 0 "$(t_ms 2000)" "  at once"
like "$(cat "$dir/log")" "and a writer waits for it" "  says why"
is "$writer" 0 "  and that one is served"
ok "  nothing of all that was run" test ! -e "$dir/ran"

# Keys and tables that only look the same.
run lh run a "$LEASEHOLD" run aa true
is "$status" 0 "a key that begins alike"
run lh run a= "$LEASEHOLD" run a true
is "$status" 0 "a key that begins alike, the other way"
run lh run a:b "$LEASEHOLD" run b true
is "$status" 0 "a key with a colon"
run lh run a=b "$LEASEHOLD" run -w 30s a=b true
is "$status" 75 "a key with an equals sign is recognised"
outer=$LEASEHOLD_TABLE
table nested2
run lh run --table "$outer" a "$LEASEHOLD" run --table "$LEASEHOLD_TABLE" \
    a true
is "$status" 0 "the same key in another table"
if [ "$(id -u)" = 0 ]; then
	run lh run --system a "$LEASEHOLD" run --table "$LEASEHOLD_TABLE" \
	    a true
	is "$status" 0 "the same names, system-wide and not"
	run lh run --system a "$LEASEHOLD" run --system -w 30s a true
	is "$status" 75 "system-wide twice"
	run lh run --system a "$LEASEHOLD" run -w 30s a true
	is "$status" 75 "system-wide twice, by what run hands on"
else
	skip "not root" "the same names, system-wide and not"
	skip "not root" "system-wide twice"
	skip "not root" "system-wide twice, by what run hands on"
fi

# An old entry means nothing: a daemon that outlived its job may come back.
run lh run a sh -c "env | grep ^LEASEHOLD_HELD= >$dir/held"
held=$(cat "$dir/held")
like "$held" "LEASEHOLD_HELD=$LEASEHOLD_TABLE:a=" "what a job leaves behind"
run env "$held" "$LEASEHOLD" run -w 5s a true
is "$status" 0 "the job has ended: its entry means nothing"
bg "$LEASEHOLD" run a sleep 1
until_true 5000 is_held a
run env "$held" "$LEASEHOLD" run -w 20s a true
is "$status" 0 "held by somebody else: waited for"

# Rubbish means nothing, either.
bg "$LEASEHOLD" run a sleep 150
holder=$pid
until_true 5000 is_held a
id=$(lh status --json a | jq -r '.holders[0].lease_id')
for h in , ,,, a a= "$LEASEHOLD_TABLE:a=" "$LEASEHOLD_TABLE:a=xyz" \
    "$LEASEHOLD_TABLE:a=${id}0" "$LEASEHOLD_TABLE:a=${id%?}g" \
    "$LEASEHOLD_TABLE:b=$id" "$(printf '%0100000d' 1)"; do
	run env "LEASEHOLD_HELD=$h" "$LEASEHOLD" run -w 100ms a true
	like "$err" "timed out waiting" "LEASEHOLD_HELD='${h:0:50}'"
done
run env "LEASEHOLD_HELD=x,$LEASEHOLD_TABLE:a=$id,y" "$LEASEHOLD" run a true
like "$err" "wait for itself" "an entry among others is found"
kill -TERM "$holder"

# A stranger to a reader that names its lease gains what a high priority gives:
# it reads before a writer that waits.  It gets no key that a writer has.
bg "$LEASEHOLD" run -s --ttl 60s f sleep 100
until_true 5000 has_holders f 1
id=$(lh status --json f | jq -r '.holders[0].lease_id')
bg "$LEASEHOLD" run --ttl 60s -w 100s f sleep 100
until_true 5000 has_waiters f 1
run lh run -s -n f true
is "$status" 75 "a writer waits: nobody else reads"
run env LEASEHOLD_HELD="$LEASEHOLD_TABLE:f=$id" "$LEASEHOLD" run -s -n f true
is "$status" 0 "but whoever names a reader's lease"
run env LEASEHOLD_HELD="$LEASEHOLD_TABLE:f=$id" "$LEASEHOLD" run -n f true
is "$status" 75 "and does not write"
finish
