#!/bin/bash
# SPDX-License-Identifier: MIT
# In another time namespace `log` shows when something happened as it is shown
# outside, with a warning, and `log --at` does not call an answer certain.
#
# Otherwise an operator in a container would read times that never were, and
# would take a held key for one that nobody held.
. "$(dirname "$0")/lib.sh"
if [ "$(id -u)" != 0 ] || ! unshare -T --fork true 2>/dev/null; then
	skip "not root" "log in another time namespace"
	finish
	exit
fi
table log-other-time
elsewhere() { unshare -T --monotonic "$1" --fork "$LEASEHOLD" "${@:2}"; }

lh init >/dev/null
lh log --grants on >/dev/null
lh run k true
bg "$LEASEHOLD" run k sleep 150
until_true 5000 is_held k
here=$(lh log --json k | jq -r 'last.time_ms')
at="@$(date +%s.%N)"
for offset in 100000 -100; do
	run elsewhere "$offset" log --json k
	is "$status" 0 "log, the clock $offset s ahead: 0"
	between "$(($(jq -r 'last.time_ms' <<<"$out") - here + 1000))" 0 2000 \
	    "  its times are those outside"
	like "$err" "of another time namespace" "  with a warning"
	run elsewhere "$offset" log --at now k
	is "$status" 66 "  --at now, it is held: 66"
	like "$out" "as far as is known" "    by whom, but not for certain"
	like "$out" "of another time namespace" "    and why"
	run elsewhere "$offset" log --at "@$(($(date +%s) - 50))" k
	is "$status" 66 "  --at, before it was held: 66"
done
run lh log --at "$at" k
is "$status$err" 0 "outside it is certain"
run lh log k
is "$status$err" 0 "  without a warning"
finish
