#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Guarantee G12, issue 21 A2: a table that is truncated, cut or punched under
# the command ends it with an exit status, never with a signal: a holder, a
# waiter, and one that watches.
#
# Otherwise a damaged table would kill jobs without a word.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# destroy WAY
destroy() {
	case $1 in
	truncated) truncate -s 0 "$(object)" ;;
	cut) truncate -s 8192 "$(object)" ;;
	punched) fallocate -p -o 0 -l "$(stat -c %s "$(object)")" "$(object)" ;;
	esac
}

for way in truncated cut punched; do
	table "$way"
	bg "$LEASEHOLD" run --ttl 2s held sleep 600
	holder=$pid
	ok "$way: held" until_true 5000 is_held held
	bg "$LEASEHOLD" run -w 1h held true
	waiter=$pid
	ok "  and waited for" until_true 5000 has_waiters held 1
	bg "$LEASEHOLD" watch held >"$dir/seen"
	watcher=$pid
	nap 200
	destroy $way
	ended "$waiter"
	is "$status" 65 "  the waiter reports: damaged"
	ended "$holder"
	is "$status" 76 "  the holder ends its job: lost"
	ended "$watcher"
	is "$status" 65 "  the watcher reports: damaged"
	for verb in "run -n k true" list "status k" "verify k 1" stats fsck \
	    "explain k" "break k" "log" dump "value get k"; do
		# shellcheck disable=SC2086 # words
		run "$LEASEHOLD" $verb
		is "$status" 65 "  $verb"
	done
	run lh rm --force
	is "$status" 0 "  removed"
	run lh run -n held true
	is "$status" 0 "  and made anew"
done
finish
