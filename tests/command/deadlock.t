#!/bin/bash
# SPDX-License-Identifier: MIT
# Timing T6, issue 21 D2: deadlocks by job: two trees of `run` that nest the
# same keys in opposite order, sessions and the processes that acquire into
# them, and programs of the library among them.  One fails within 5 s and
# describes the circle in words, and the other goes on.  A process that only
# claims to belong to a job is not believed.
#
# Otherwise two scripts would wait for each other for ever.
. "$(dirname "$0")/lib.sh"
table deadlock
unset LEASEHOLD_SESSION

# nest OUTER INNER NAME [INNER COMMAND...]: OUTER is held; INNER is wanted when
# both outer ones are
nest() {
	local outer=$1 inner=$2 name=$3

	bg "$LEASEHOLD" run --ttl 60s "$outer" sh -c "
	    : >'$dir/$name.holds'
	    until [ -e '$dir/go' ]; do sleep 0.05; done
	    '$LEASEHOLD' run -w 100s '$inner' true 2>'$dir/$name.err'
	    echo \$? >'$dir/$name.status'"
}
begin() {
	rm -f "$dir"/*.holds "$dir"/*.status "$dir"/*.err "$dir/go"
}
all_hold() {
	local n

	for n; do
		until_true 10000 test -e "$dir/$n.holds"
	done
	now_ms >"$dir/began"
	: >"$dir/go"
}
statuses() {
	local n

	for n; do
		until_true 15000 test -s "$dir/$n.status"
	done
	took=$(($(now_ms) - $(cat "$dir/began")))
	for n; do cat "$dir/$n.status"; done | sort -n | xargs
}

begin
nest a b one
nest b a two
all_hold one two
is "$(statuses one two)" "0 75" "nested runs in opposite order: one fails"
took=$(($(now_ms) - $(cat "$dir/began")))
between "$took" 0 "$(t_ms 5000)" "  within 5 s"
said=$(cat "$dir"/one.err "$dir"/two.err)
like "$said" "a deadlock: this thread waits for" "  the circle in words"
like "$said" "for its job, " "  by which job"
is "$(cat "$dir"/*.err | wc -l)" 1 "  in one line"

# Three trees, one of them two deep.
begin
nest c d one
nest d e two
bg "$LEASEHOLD" run --ttl 60s e "$LEASEHOLD" run --ttl 60s f sh -c "
    : >'$dir/three.holds'
    until [ -e '$dir/go' ]; do sleep 0.05; done
    '$LEASEHOLD' run -w 100s c true 2>'$dir/three.err'
    echo \$? >'$dir/three.status'"
all_hold one two three
is "$(statuses one two three)" "0 0 75" "three trees, one deeper: one fails"

# Sessions.
begin
lh session open --ttl 60s s >/dev/null
lh session open --ttl 60s t >/dev/null
lh acquire --session s g >/dev/null
lh acquire --session t h >/dev/null
now_ms >"$dir/began"
into() {	# into SESSION KEY NAME
	(
		"$LEASEHOLD" acquire --session "$1" -w 8s "$2" 2>"$dir/$3.err"
		echo $? >"$dir/$3.status"
		[ "$(cat "$dir/$3.status")" = 0 ] ||
		    "$LEASEHOLD" session destroy "$1"
	) >/dev/null &
	mind $!
}
into s h one
into t g two
is "$(statuses one two)" "0 75" "two sessions: one fails, the other goes on"
like "$(cat "$dir/one.err" "$dir/two.err")" "acquires into" "  in words"

# One's own session's key.
lh session open --ttl 60s own >/dev/null
lh acquire --session own i >/dev/null
in_time "$(t_ms 5000)" run lh acquire --session own -w 100s i
is "$status" 75 "a key of one's own session: told"
like "$err" "held by session 'own', which this thread acquires into" \
    "  in words"
run lh acquire --session own -n i
is "$status" 75 "a try"
like "$err" "held by session 'own' for" "  says so"

# Mixed: a run, a session.
begin
lh session open --ttl 60s m >/dev/null
lh acquire --session m j >/dev/null
nest k j one
all_hold one
into m k two
is "$(statuses one two)" "0 75" "a run and a session: one fails"

# A process that is no job of the run that it names waits like a stranger.
begin
bg "$LEASEHOLD" run --ttl 60s x sh -c "echo \"\$LEASEHOLD_HELD\" >'$dir/held'
    : >'$dir/one.holds'
    until [ -e '$dir/go' ]; do sleep 0.05; done"
until_true 5000 test -e "$dir/one.holds"
in_time "$(t_ms 5000)" run env LEASEHOLD_HELD="$(sed "s/:x=/:other=/" "$dir/held")" \
    "$LEASEHOLD" run -w 500ms x true
is "$status" 75 "not in that tree: it waits its time"
like "$err" "timed out waiting" "  and reports no deadlock"
: >"$dir/go"

# explain goes on into the job.
begin
bg "$LEASEHOLD" run --ttl 60s z sleep 150
until_true 5000 is_held z
nest y z one
all_hold one
until_true 5000 has_waiters z 1
run lh explain y
like "$out" "its job, process " "explain: what the job of a holder waits for"
like "$out" " so far, for 'z'" "  which key"
like "$out" "
'z' is held by
  sleep[" "  and who holds that"
run lh explain --json y
is "$(jq -r '.[0].holders[0] | .waits_for, (.waits_pid | type)' <<<"$out" |
    xargs)" "z number" "  as JSON"

finish
