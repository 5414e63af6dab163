#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold destroy` removes a key that nobody uses, and no other.
#
# Otherwise an operator could delete a key that a job holds.
. "$(dirname "$0")/lib.sh"
table destroy

run lh destroy k
is "$status" 0 "destroy without a table: 0"
ok "  and makes none" test ! -e "$(object)"
bg "$LEASEHOLD" run --ttl 60s k sleep 150
holder=$pid
until_true 5000 is_held k
run lh destroy k
is "$status" 75 "destroy of a held key: 75"
like "$err" "'k' stays" "  says so"
like "$err" "process $holder" "  and who holds it"
kill -KILL "$holder"
ended "$holder"
until_true 5000 lh destroy k
run lh status k
is "$status" 1 "  gone with its holder"
like "$err" "does not know it" "  for good"
run lh destroy k
is "$status" 0 "destroy once more: 0"
is "$out$err" "" "  without a word"

# A robust holder that did not release it has left a note.
bg "$LEASEHOLD" run --robust --ttl 60s k sleep 150
slain "$pid"
# shellcheck disable=SC2317
noted() {
	[ "$(lh status --json k | jq .inconsistent)" = true ]
}
ok "a robust holder is killed" until_true 5000 noted
run lh destroy k
is "$status" 77 "a key with its note: 77"
like "$err" "'k' stays: a holder did not release it" "  says why"
ok "  the note stands" noted
run lh run k true
like "$err" "inconsistent" "  and warns the next holder"
run lh destroy --inconsistent k
is "$status" 0 "--inconsistent: 0"
run lh run k true
is "$status$err" 0 "  the key and its note are gone"

# A key in its lock-delay would be granted at once if it were made again.
brief() {	# if it has ended before that, in another one
	lh session open --ttl "$(t_ms 500)ms" --lock-delay 60s brief &&
	    lh acquire --session brief tape
} >/dev/null
# shellcheck disable=SC2317
delayed() {
	lh list tape | grep -q delayed
}
ok "a session has the key" until_true 20000 brief
ok "  and runs out" until_true 10000 delayed
for option in "" --inconsistent; do
	# shellcheck disable=SC2086
	run lh destroy $option tape
	is "$status" 75 "destroy $option in the lock-delay: 75"
	like "$err" "'tape' is free, but nobody is granted it for" "  says why"
	is "${err#*try again}" "$err" "  and not that one should try again"
done
run lh run -n tape true
is "$status" 75 "  the delay stands"

run lh destroy
is "$status" 64 "no key: 64"
run lh destroy a b
is "$status" 64 "two keys: 64"
run lh destroy ""
is "$status" 64 "an empty one: 64"
run lh destroy --json k
is "$status" 64 "--json: 64"
like "$err" "prints nothing" "  says why"

finish
