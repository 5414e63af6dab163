#!/bin/bash
# SPDX-License-Identifier: MIT
# `run --robust` and `mark-consistent`: what a killed run leaves is noted, until
# a command that succeeds, or an operator, has repaired it.
. "$(dirname "$0")/lib.sh"
table robust

# leave KEY: a run with --robust holds it and is killed
leave() {
	bg "$LEASEHOLD" run --robust --ttl 60s "$1" sleep 150
	holder=$pid
	until_true 5000 is_held "$1"
	kill -KILL "$holder"
	ended "$holder"
	until_true 5000 lh run -n "$1" true
}

run lh run --robust k true
is "$status/$err" 0/ "a robust run that ends leaves no note"
run lh mark-consistent k
is "$status" 1 "  so there is nothing to mark: 1"
leave k
run lh status k
like "$out" "a robust holder did not release it" "killed: status shows the note"
is "$(lh status --json k | jq .inconsistent)" true "  also in JSON"
is "$(lh list | awk '$1 == "k" {print $2}')" inconsistent "  list, too"
like "$(lh dump)" "key k, inconsistent, token" "  and dump"
is "$(lh dump --json | jq '.keys[0].inconsistent')" true "  as JSON"
run lh explain k
is "$status" 1 "  explain: nobody holds it"
like "$out" "'k' is free, but inconsistent" "  but it is not said to be free"
like "$out" "leasehold mark-consistent --table $LEASEHOLD_TABLE 'k'" \
    "  and what to do is"
run lh run k true
is "$status" 0 "the next run goes on"
like "$err" "what it guards may be inconsistent" "  and is warned"
run lh run -n -s k true
is "$status" 75 "a reader is refused: 75"
like "$err" "acquire it exclusively" "  with words"
run lh run -n -q -E 9 -s k true
is "$status" 9 "  -E says otherwise"
like "$err" "acquire it exclusively" "  and -q does not silence that"
run lh acquire -n -s --ttl 5s k
is "$status" 75 "acquire -s is refused, too: 75"
run lh run --robust k false
is "$status" 1 "a robust run that fails"
like "$err" "may be inconsistent" "  is warned"
run lh run --robust k true
is "$status" 0 "one that succeeds"
like "$err" "'k' is marked consistent" "  has repaired it"
run lh run k true
is "$status/$err" 0/ "the next one is not warned"

leave k
bg "$LEASEHOLD" run --ttl 60s k sleep 150
holder=$pid
until_true 5000 is_held k
run lh mark-consistent k
is "$status" 75 "held by another: 75"
kill -TERM "$holder"
ended "$holder"
run lh mark-consistent k
is "$status" 0 "marked by hand: 0"
like "$out" "'k' is marked consistent" "  it says so"
run lh mark-consistent k
is "$status" 1 "once more: 1"
run lh run k true
is "$status/$err" 0/ "nobody is warned"

# acquire --robust: the session holds it.
lh session open --ttl 60s work >/dev/null
for session in "--ttl 60s" "--session work" "--for-pid $$"; do
	# shellcheck disable=SC2086
	run lh acquire --robust $session r
	is "$status/$err" 0/ "acquire --robust $session"
	read -r id token name <<<"$out"
	run lh release r "$id" "$token"
	is "$status" 0 "  released"
	run lh run r true
	is "$status/$err" 0/ "  nobody is warned"
	# shellcheck disable=SC2086
	read -r id token name < <(lh acquire --robust $session r)
	run lh session destroy "$name"
	is "$status" 0 "  its session is destroyed before a release"
	run lh acquire r
	is "$status" 0 "  the next acquire"
	like "$err" "what it guards may be inconsistent" "    is warned"
	read -r id token name <<<"$out"
	run lh release r "$id" "$token"
	is "$status" 0 "    released"
	run lh mark-consistent r
	is "$status" 0 "  marked by hand"
done
run lh acquire --robust -s r
is "$status" 64 "a robust reader: 64"

run lh mark-consistent nothing
is "$status" 1 "no such key: 1"
run lh mark-consistent
is "$status" 64 "no key: 64"
run lh run --robust -s k true
is "$status" 64 "robust readers: 64"
run lh run --robust -F --ttl 1s k true
is "$status" 64 "robust without a wrapper: 64"
finish
