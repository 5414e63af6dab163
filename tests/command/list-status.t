#!/bin/bash
# SPDX-License-Identifier: MIT
# The output of `list` and `status`, for people and as JSON.
#
# Otherwise scripts that read them would break without notice.
. "$(dirname "$0")/lib.sh"
table show

hold() {	# hold KEY [OPTION...]
	local key=$1

	shift
	bg "$LEASEHOLD" run --ttl 60s "$@" "${key//\\/\\\\}" sleep 150
	holder=$pid
	until_true 5000 is_held "$key" || diag "nobody holds $key"
}

# json TEXT: two readers agree that it is JSON
json() {
	python3 -m json.tool <<<"$1" >/dev/null && jq . <<<"$1" >/dev/null
}

# No table: nothing is made by asking.
run lh list
is "$status" 1 "list without a table: 1"
like "$err" "no table '$LEASEHOLD_TABLE'" "  says so"
is "$out" "" "  prints nothing"
run lh list --json
is "$status" 1 "list --json without a table: 1"
is "$(jq -c . <<<"$out")" "[]" "  an empty array"
run lh status k
is "$status" 1 "status without a table: 1"
like "$err" "nobody holds 'k': there is no such table" "  says so"
run lh status --json k
is "$status" 1 "status --json without a table: 1"
is "$(jq -c '[.table, .key, .state]' <<<"$out")" \
    "[\"$LEASEHOLD_TABLE\",\"k\",\"unknown\"]" "  unknown"
ok "asking has made no table" test ! -e "$(object)"

run lh run free true
run lh status unknown
is "$status" 1 "an unknown key: 1"
like "$err" "the table does not know it" "  says so"
run lh list unknown
is "$status" 0 "list with a prefix that nothing has: 0"
is "$(wc -l <"$dir/out")" 1 "  just the heading"
run lh list --json unknown
is "$(jq -c . <<<"$out")" "[]" "  and an empty array"
is "$(lh list | wc -l)" 2 "asking has made no key"

# Held, with waiters.
hold nightly
p1=$holder
hold nice
before=$(now_ms)
bg "$LEASEHOLD" run nightly true
w1=$pid
until_true 5000 has_waiters nightly 1
after=$(now_ms)
bg "$LEASEHOLD" run --priority 9 nightly true
w2=$pid
until_true 5000 has_waiters nightly 2

run lh list
is "$(head -1 <<<"$out" | tr -s ' ')" \
    "KEY MODE TOKEN WHO SINCE LEFT WAITERS PRIORITY" "list: the heading"
is "$(sed 1d <<<"$out" | grep -v '^ ' | awk '{print $1}' | paste -sd,)" \
    free,nice,nightly "list: by name"
is "$(awk '$1 == "nightly" {print $2, $4, $(NF - 1)}' <<<"$out")" \
    "exclusive sleep[$p1] 2" "list: who holds and how many wait"
is "$(grep -A1 '^nightly' <<<"$out" | awk 'NR == 2 {print $1, $2, $3, $5, $NF}')" \
    "waiter 1 exclusive true[$w2] 9" "list: below it who waits, and how urgently"
is "$(grep -A2 '^nightly' <<<"$out" | awk 'NR == 3 {print $1, $2, $3, $5, $NF}')" \
    "waiter 2 exclusive true[$w1] 0" "list: then the other"
is "$(awk '$1 == "free" {print $2, $4, $5, $6, $7, $8}' <<<"$out")" \
    "free - - - 0 -" "list: a free key"
is "$(awk '{print length}' "$dir/out" | sort -u | wc -l)" 1 "list: aligned"
is "$(lh list ni | grep -vc '^ ')" 3 "list: a prefix"
is "$(lh list nig | grep -vc "^ ")" 2 "list: a longer prefix"

run lh list --json
ok "list --json is JSON" json "$out"
is "$(jq -r '[.[].key] | join(",")' <<<"$out")" free,nice,nightly "  by name"
is "$(jq -r '.[] | select(.key == "nightly") | .waiters | length' <<<"$out")" \
    2 "  with its waiters"
run lh list --json ni
is "$(jq length <<<"$out")" 2 "  of a prefix"

run lh status nightly
is "$status" 0 "status of a held key: 0"
field() {
	sed -n "s/^$1 *//p" <<<"$out"
}
is "$(field key)/$(field table)/$(field state)/$(field mode)" \
    "nightly/$LEASEHOLD_TABLE/held/exclusive" "status: what it is"
is "$(field holder)" "sleep[$p1], uid $(id -u)" "status: the holder"
like "$(field since)" "s ago)" "status: since when"
ok "status: until when" grep -qE '\(in [45][0-9] s\)' <<<"$(field expires)"
like "$(sed -n '/^waiters/,$p' <<<"$out" | sed -n 2p)" \
    "1   true[$w2], uid $(id -u), exclusive, priority 9, waiting for" \
    "status: the first in line has the higher priority"
like "$(sed -n '/^waiters/,$p' <<<"$out" | sed -n 3p)" "true[$w1]" \
    "status: then the other"

run lh status --json nightly
told=$(now_ms)
ok "status --json is JSON" json "$out"
is "$(jq -r '.token | type' <<<"$out")" string "  the token is a string"
is "$(jq -r '.holders[0].pid' <<<"$out")" "$p1" "  the holder's pid"
is "$(jq -r '.holders[0].lease_id | length' <<<"$out")" 32 "  its lease"
is "$(jq -r '[.waiters[].rank] | join(",")' <<<"$out")" 1,2 "  ranks"
is "$(jq -r '[.waiters[].pid] | join(",")' <<<"$out")" "$w2,$w1" "  in order"
between $(($(jq -r '.holders[0].expires_ms' <<<"$out") - told)) \
    30000 60000 "  the deadline, since 1970"
between "$(jq -r '.waiters[1].since_ms' <<<"$out")" $((before - 1)) \
    $((after + 1)) "  waiting since, since 1970"
run lh status --json free
is "$status" 1 "status --json of a free key: 1"
is "$(jq -c '[.state, .holders, .waiters, has("mode")]' <<<"$out")" \
    '["free",[],[],false]' "  free"

# What for.
hold told --info 'weekly report'
run lh list told
like "$out" "sleep[$holder]: weekly report" "list: who and what for"
run lh status told
is "$(field info)" "weekly report" "status: what for"
run lh status --json told
is "$(jq -r '.holders[0].info' <<<"$out")" "weekly report" "  as JSON"
run lh status --json nightly
is "$(jq -r '.holders[0] | has("info")' <<<"$out")" false "  if it is said"

# Keys of odd bytes: nothing reaches the terminal as it is.
esc=$'\e]0;owned\a\e[31m'
hold "$esc"
run lh list
ok "a key with escape sequences is shown harmlessly" \
    test -z "$(tr -d '[:print:]\n' <<<"$out")"
like "$out" '\x1b]0;owned\x07\x1b[31m' "  with its bytes in hex"
run lh run -n "$esc" true
ok "  in messages, too" test -z "$(tr -d '[:print:]\n' <<<"$err")"
is "$(lh status --json "$esc" | jq -r .key)" "$esc" "  JSON has it exactly"
bytes=$'caf\xe9'
hold "$bytes"
run lh status --json "$bytes"
ok "a key that is not UTF-8: still JSON" json "$out"
is "$(jq -r .key_hex <<<"$out")" 636166e9 "  its bytes"
is "$(jq -r .key <<<"$out")" 'caf\xe9' "  its look"
hold 'back\slash'
like "$(lh list)" 'back\\slash' "a backslash cannot pretend to be an escape"
hold 'caffè-日本'
like "$(lh list caff)" 'caffè-日本' "letters are letters"
is "$(lh list caff | sed 's/è/e/; s/日本/xxxx/' |
    awk '{print length}' | sort -u | wc -l)" 1 "  and wide ones keep columns"
is "$(lh status --json 'caffè-日本' | jq -r 'has("key_hex")')" false \
    "  no hex where the key is text"

# Only what is held.
table list-held
lh run idle true
bg "$LEASEHOLD" run busy sleep 100
until_true 5000 is_held busy
is "$(lh list --json | jq -c '[.[].key]')" '["busy","idle"]' "list: both keys"
is "$(lh list --held --json | jq -c '[.[].key]')" '["busy"]' "list --held: one"
is "$(lh list --held | awk 'NR > 1 {print $1}')" busy "  also in words"
is "$(lh list --held --json id)" '[]' "list --held PREFIX: none"

# Many, beside holders that come and go.
bg bash -c 'while :; do "$LEASEHOLD" run "moving$RANDOM" true; done'
mover=$pid
bad=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	lh list --json >"$dir/json$i" || bad=1
	[ -s "$dir/json$i" ] || bad=1
done
kill -KILL "$mover"
jq . "$dir"/json{1..10} >/dev/null || bad=1
is "$bad" 0 "list --json beside changes is JSON every time"

# Colours only on a terminal (see terminal.t).
run lh list
is "$(grep -c $'\e' <<<"$out")" 0 "no colours in a file"

finish
