#!/bin/bash
# SPDX-License-Identifier: MIT
# Keys on the command line (spec section 6): `run` and `acquire` split at
# commas, and a backslash escapes; other verbs take one literal key;
# LEASEHOLD_HELD escapes likewise.
#
# Otherwise `acquire a,b` would lock one key called "a,b" and protect nothing.
. "$(dirname "$0")/lib.sh"
table keys
unset LEASEHOLD_SESSION

keys() {
	lh list --json | jq -c 'map(select(.state == "held") | .key) | sort'
}

run lh acquire --ttl 60s b,a
is "$status" 0 "acquire of two keys: 0"
is "$(wc -l <<<"$out")" 2 "  a line for each"
is "$(keys)" '["a","b"]' "  both are held"
read -r id token session < <(head -1 <<<"$out")
is "$(lh status --json b | jq -r '.holders[0] | .lease_id, .token' | xargs)" \
    "$id $token" "  the first line is of the first key"
read -r id2 token2 session2 < <(tail -1 <<<"$out")
is "$session2" "$session" "  in one session"
run lh acquire -n --session "$session" c,a
is "$status" 75 "one of two is held: 75"
is "$(keys)" '["a","b"]' "  and none is acquired"
like "$err" "'c,a' are not acquired" "  says so"
run lh release b "$id" "$token"
is "$status" 0 "one is released"
is "$(lh session list --json | jq -r '.[].session')" "$session" \
    "  the session lives"
run lh release a "$id2" "$token2"
is "$status" 0 "the other, too"
is "$(lh session list --json)" "[]" "  that ends the session"

run lh acquire --json --ttl 60s 'x,y'
is "$(jq -c '[.[] | .key]' <<<"$out")" '["x","y"]' "--json: an array"
lh session destroy "$(jq -r '.[0].session' <<<"$out")"

run lh acquire --ttl 60s 'a\,b\\,c'
is "$(wc -l <<<"$out")" 2 "escaped: two keys"
is "$(keys)" '["a,b\\","c"]' "  the first has a comma and a backslash"
run lh status 'a,b\'
is "$status" 0 "status takes a key as it is"
run lh run -n 'a\,b\\' true
is "$status" 75 "run escapes likewise"
run lh run -n 'a,b' true
is "$status" 0 "  a and b are free"
run lh run 'a\b' true
is "$status" 64 "a backslash before something else: 64"
like "$err" "a backslash in keys is written" "  says how"
run lh acquire 'a\'
is "$status" 64 "at the end: 64"
run lh acquire a,,b
is "$status" 64 "an empty key: 64"
run lh acquire a,b,a
is "$status" 64 "a key twice: 64"

run lh run 'k\,1' "$LEASEHOLD" run -n 'k\,1' true
is "$status" 75 "a nested run finds an escaped key"
like "$err" "by the command that this one was started from" "  says so"
# shellcheck disable=SC2016
run lh run 'k\,1' sh -c 'echo "$LEASEHOLD_HELD"'
like "$out" "$LEASEHOLD_TABLE:k\\,1=" "LEASEHOLD_HELD escapes likewise"
run lh run 'k\,1' "$LEASEHOLD" run -n 1 true
is "$status" 0 "  and '1' is not held"

finish
