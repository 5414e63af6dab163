#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 C, `leasehold explain`: who blocks the caller, what they do, and what
# one could do.
#
# Otherwise an operator would have to guess which process to end.
. "$(dirname "$0")/lib.sh"
table explain

run lh explain k
is "$status" 1 "explain without a table: 1"
like "$err" "nobody holds 'k': there is no such table" "  says so"
run lh explain --json k
is "$status$(jq -c '[.[] | [.key, .state]]' <<<"$out")" '1[["k","unknown"]]' \
    "  as JSON"
ok "  and makes none" test ! -e "$(object)"
lh run free true
run lh explain k
is "$status" 1 "an unknown key: 1"
like "$err" "the table does not know it" "  says so"
run lh explain free
is "$status$out" "1'free' is free" "a free key: 1"

# a is held, and its holder waits for b: run takes keys by name.
bg "$LEASEHOLD" run --ttl 60s --info 'weekly report' b sleep 150
one=$pid
until_true 5000 is_held b
bg "$LEASEHOLD" run --ttl 60s a,b true
two=$pid
until_true 5000 has_waiters b 1
bg "$LEASEHOLD" run -s --priority 2 a true
three=$pid
until_true 5000 has_waiters a 1

run lh explain a
is "$status$err" 0 "explain of a held key: 0"
like "$out" "'a' is held by
  true[$two], uid $(id -u), exclusive, token " "  the holder"
like "$out" "    has held it for " "  since when"
like "$out" "    waits, for " "  waits"
like "$out" " so far, for 'b'" "  for what"
like "$out" "1 waits for it, in the order in which they are due:
  1  true[$three], shared, priority 2, for " "  who waits"
like "$out" "
'b' is held by
  sleep[$one], uid $(id -u), exclusive, token " "  who is in its way"
like "$out" ": weekly report" "  what for"
like "$out" "leasehold break --table $LEASEHOLD_TABLE 'a'" "  what one could do"
run lh explain --json a
is "$status$(jq -r '[.[] | .key] | join(",")' <<<"$out")" 0a,b \
    "--json: both keys"
is "$(jq -r '.[0].holders[0] | [.pid, .waits_for] | join(",")' <<<"$out")" \
    "$two,b" "  what the holder waits for"
is "$(jq -r '.[0].holders[0] | [.waits_since_ms, .since_ms] | map(type) |
    unique | join(",")' <<<"$out")" string "  since when"
is "$(jq -r '.[1].holders[0] | [.pid, .info, has("waits_for")] |
    join(",")' <<<"$out")" "$one,weekly report,false" "  and the next one"

kill -STOP "$one"
until_true 5000 is_stopped "$one"
run lh explain b
like "$out" "
    stopped
" "a stopped holder"
like "$out" "kill -CONT $one" "  how to continue it"
run lh explain --json b
is "$(jq -r '.[0].holders[0].run' <<<"$out")" stopped "  as JSON"
kill -CONT "$one"

bg "$LEASEHOLD" run --ttl 60s --policy strict "it's" sleep 150
until_true 5000 is_held "it's"
run lh explain "it's"
like "$out" "holds it until it gives it back, or dies" "policy strict"
ok "  the advice is shell" bash -n -c "$(sed -n 's/^  end its lease: *//p' \
    <<<"$out")"
is "$(eval "printf '%s,' $(sed -n 's/^  end its lease: *//p' <<<"$out")")" \
    "leasehold,break,--table,$LEASEHOLD_TABLE,it's," "  and names the key"

# In a session, and kept back after its end.
lh session open --ttl 60s job >/dev/null
lh acquire --session job tape >/dev/null
run lh explain tape
like "$out" "  session job, uid $(id -u), exclusive" "a lease in a session"
like "$out" "; holds it until it is released
    or until the end of session job, which ends in " "  how it ends"
is "$(lh explain --json tape | jq -r '.[0].holders[0] |
    [.in_session, .application, has("run")] | join(",")')" true,job,false \
    "  as JSON"
lh session destroy job
brief() {	# if it has ended before that, in another one
	lh session open --ttl "$(t_ms 500)ms" --lock-delay 60s brief &&
	    lh acquire --session brief tape
}
until_true 20000 brief
until_true 5000 is_free tape
run lh explain tape
is "$status" 1 "free, but kept back: 1"
like "$out" "'tape' is free
  and stays so for " "  says so"
between "$(lh explain --json tape | jq -r '.[0].delayed_ms')" 1 60100 \
    "  for how long"

# Its process has ended, and one that it started keeps it.
bg "$LEASEHOLD" run --ttl 60s kept sh -c "sleep 150 & echo \$! >'$dir/kept'
    wait"
until_true 5000 test -s "$dir/kept"
keeper=$(cat "$dir/kept")
mind "$keeper"
kill -KILL "$pid"
until_true 5000 bash -c "'$LEASEHOLD' explain --json kept |
    jq -e '.[0].holders[0].run == \"inherited\"'"
run lh explain kept
like "$out" "and nothing renews it" "an inherited lease: it is not renewed"
like "$out" "a process that it started keeps the key: " "  who keeps it"
keeps=$(sed -n 's/^  end what keeps it: *kill //p' <<<"$out")
ok "  by its number" grep -qE '^(sleep|sh)$' "/proc/$keeps/comm"
ok "  which has the sign of life" bash -c "ls -l /proc/$keeps/fd |
    grep -q socket:"

run lh explain
is "$status" 64 "no key: 64"
run lh explain a b
is "$status" 64 "two: 64"
run lh explain ""
is "$status" 64 "an empty one: 64"

finish
