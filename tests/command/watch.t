#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold watch`: holders and waiters that come and go, as it happens.
#
# Otherwise an operator would have to poll.
. "$(dirname "$0")/lib.sh"
table watch

run lh watch -w 1s k
is "$status" 1 "watch without a table: 1"
like "$err" "no table '$LEASEHOLD_TABLE'" "  says so"
ok "  and makes none" test ! -e "$(object)"
lh run k true

# watching OPTION...: in the background, into $dir/seen
watching() {
	: >"$dir/seen"
	env --default-signal=INT,TERM "$LEASEHOLD" watch "$@" >"$dir/seen" \
	    2>"$dir/seen.err" </dev/null 3>&- &
	watcher=$!
	mind "$watcher"
}
seen() {	# seen TEXT: a line with that
	grep -q -e "$1" "$dir/seen"
}

in_time 2000 run lh watch -w 100ms k
is "$status$out$err" 1 "nothing happens: 1, without a word"
between "$took" 100 2000 "  after the time"

watching k
bg "$LEASEHOLD" run --ttl 60s --info 'a report' k sleep 150
one=$pid
# (or if we were slow to begin:)
ok "acquired" until_true 5000 seen "  k  \(acquired\|holds   \)   sleep\[$one\], exclusive, token [0-9]*.*: a report$"
bg "$LEASEHOLD" run --ttl 60s --priority 3 k sleep 150
two=$pid
ok "queued" until_true 5000 seen "  k  queued     sleep\[$two\], exclusive, priority 3$"
bg "$LEASEHOLD" run --ttl 60s k sleep 150
three=$pid
ok "queued, the next" until_true 5000 seen "queued     sleep\[$three\]"
kill -INT "$three"
ended "$three"
ok "left" until_true 5000 seen "left       sleep\[$three\], exclusive, waited for "
kill -KILL "$one"
ended "$one"
ok "ended" until_true 5000 seen "ended      sleep\[$one\], exclusive, token [0-9]*, held for "
ok "acquired after a wait" until_true 5000 seen "acquired   sleep\[$two\], exclusive, token [0-9]*, waited for"
ok "  no renewals" test "$(grep -c renewed "$dir/seen")" = 0
kill -INT "$watcher"
ended "$watcher"
is "$status" 0 "ended by INT: 0"
is "$(wc -l <"$dir/seen")" 6 "  and nothing else"
is "$(cat "$dir/seen.err")" "" "  without a word"

watching --json k
ok "what there is" until_true 5000 seen '"event":"holds"'
is "$(jq -r '[.table, .key, .event, .party.pid] | @csv' "$dir/seen")" \
    "\"$LEASEHOLD_TABLE\",\"k\",\"holds\",$two" "  as JSON"
is "$(jq -r '[.time_ms, .party.token, .party.since_ms] | map(type) |
    unique | @csv' "$dir/seen")" '"string"' "  numbers of 64 bits are strings"
kill -TERM "$watcher"
ended "$watcher"
is "$status" 1 "nothing has happened until TERM: 1"

watching -n 2 --prefix k
until_true 5000 seen holds
kill -TERM "$two"
ended "$two"
bg "$LEASEHOLD" run -s --ttl 60s kk sleep 150
lh run other true
ended "$watcher"
is "$status" 0 "--count: ends by itself"
is "$(awk '{print $2, $3}' "$dir/seen" | paste -sd,)" \
    "k holds,k ended,kk acquired" "--prefix: these keys"

watching -n 1 --renewals kk
bg "$LEASEHOLD" run -s --ttl "$(t_ms 3000)ms" kk sleep 150
ended "$watcher"
watching -n 3 --renewals kk
ended "$watcher"
ok "renewed" seen "renewed    sleep\[$pid\], shared, token [0-9]*, for "

run lh watch
is "$status" 64 "no key: 64"
run lh watch a b
is "$status" 64 "two: 64"
run lh watch --prefix a b
is "$status" 64 "a key and a prefix: 64"
run lh watch -n x k
is "$status" 64 "a count that is no number: 64"
run timeout 5 "$LEASEHOLD" watch -n 0 k
is "$status" 64 "a count of 0: 64"
run lh watch -w x k
is "$status" 64 "a time that is none: 64"

watching kk
until_true 5000 seen holds
lh rm --force
ended "$watcher"
is "$status" 69 "the table is removed: 69"
like "$(cat "$dir/seen.err")" "was removed" "  says so"

finish
