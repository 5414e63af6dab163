#!/bin/bash
# SPDX-License-Identifier: MIT
# `log --at now` and `explain` judge a holder as `list` and `run` do: a key that
# a process keeps for its dead parent is held, and a copy of a table is refused.
#
# Otherwise an operator would take a held key for free, or a free one for held.
. "$(dirname "$0")/lib.sh"
table log-now

# A job survives its `run`, and keeps the lease.
cat >"$dir/job" <<'END'
setsid sleep 150 &
echo $! >"$0.pid"
exec sleep 150
END
bg "$LEASEHOLD" run --ttl 60s k sh "$dir/job"
wrapper=$pid
until_true 5000 test -s "$dir/job.pid"
left=$(cat "$dir/job.pid")
mind "$left"
until_true 5000 is_held k
run lh explain k
like "$out" "asleep" "the holder lives: explain"
slain "$wrapper"
run lh run -n k true
is "$status" 75 "its parent is killed: held"
run lh log --at now k
is "$status" 0 "  log --at now: 0"
like "$out" "k was held at" "    says so"
like "$out" "[$wrapper]" "    by whom"
run lh log --at now --json k
is "$(jq -c '[.certain, (.holders | length)]' <<<"$out")" "[true,1]" \
    "    as JSON"
run lh explain k
like "$out" "ended; a process that it started keeps the key" "  explain: why"
like "$out" "keeps the key: $(cat "/proc/$left/comm")[$left]" "    who does"
like "$out" "end what keeps it:     kill $left" "    what to do"
is "$(lh explain --json k | jq -r '.[0].holders[0].run')" inherited \
    "    as JSON"
kill -9 "$left"
until_true 5000 is_free k
run lh log --at now k
like "$out" "nobody" "the last of them is killed: log --at now: nobody"
ok "  not held" test "$status" != 0

# A copy in the table's place.
lh session open --ttl 60s job >/dev/null
lh acquire --session job tape >/dev/null
run lh log --at now tape
is "$status" 0 "held by a session: 0"
cp -a --sparse=never "$(object)" "$(object).x"
mv "$(object).x" "$(object)"
run lh list
is "$status" 65 "a copy is in the table's place: list: 65"
run lh log --at now tape
is "$status/$out" 65/ "  log --at now: 65"
like "$err" "is a copy of a table" "    says why"
run lh log --at now --json tape
is "$status/$out" 65/ "    as JSON"
run lh log tape
is "$status" 0 "  its events can be read still"

# A copy does not say when it was made: what came after its last event is not
# known, and what came just before may have been recorded too late for it.
table log-copy
lh log --grants on >/dev/null 2>&1 || lh run other true
lh log --grants on >/dev/null
lh run k true
sleep 0.1
free="@$(date +%s.%N)"
sleep 2.5
lh run other true
cp --sparse=always "$(object)" "$dir/copy"
bg "$LEASEHOLD" run k sleep 100
until_true 5000 is_held k
run lh log --at now k
is "$status" 0 "held now: the table says so"
run lh log --file "$dir/copy" --at now k
is "$status" 66 "  a copy from before: 66"
like "$out" "nobody is known to have held k" "    says so"
like "$out" "the copy's last event is of" "    says why"
run lh log --file "$dir/copy" --at now --json k
is "$status/$(jq -c '[.certain, (.holders | length)]' <<<"$out")" \
    "66/[false,0]" "    as JSON"
run lh log --file "$dir/copy" --at "$free" k
is "$status" 1 "  of a time before its last event it is certain: 1"
finish
