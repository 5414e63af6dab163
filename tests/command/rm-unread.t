#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantees G2, G9 and G12, issue 21 B4: a table that this build cannot read is
# removed by force, which erases it.  `run` that holds a key there ends its
# command at once, also under policy strict and with --on-loss warn; its words
# are not about the table that has the name by then.
#
# Otherwise the old command would go on beside the new holder until just before
# its deadline, and who follows the advice would remove the new table.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# hold OPTION...: runs a command that holds the key, in a new table.
hold() {
	rm -f "$dir/said"
	bg "$LEASEHOLD" run "$@" held sleep 600 2>"$dir/said"
	holder=$pid
	ok "$*: held" until_true 5000 is_held held
}

# Makes it a table of another format, and removes it.
remove() {
	printf '\006' | dd of="$(object)" bs=1 seek=8 conv=notrunc status=none
	run lh rm --force
	is "$status" 0 "  removed"
	run lh run -n held true
	is "$status" 0 "  a new table grants the key"
	before=$(now_ms)
}

# The name may have been free just after it was looked at.
true_words() {
	like "$(cat "$1")" "removed by force" "  it says what happened"
	like "$(cat "$1")" "tart its users again" "  and what to do"
	ok "  not to remove the new table" bash -c \
	    '! grep -v "only if the table is refused" "$1" | grep -q "rm --force"' \
	    - "$1"
}

for policy in lease strict; do
	table "$policy"
	hold --ttl 600s --policy "$policy"
	bg "$LEASEHOLD" run -w 1h held true 2>"$dir/waited"
	waiter=$pid
	ok "  waited for" until_true 5000 has_waiters held 1
	remove
	ended "$holder"
	is "$status" 76 "  the holder ends: 76"
	between "$(($(now_ms) - before))" 0 "$(t_ms 5000)" "  soon"
	true_words "$dir/said"
	ended "$waiter"
	is "$status" 65 "  the waiter ends: 65"
	true_words "$dir/waited"
	ok "  the new table is sound" lh fsck
done

table warned
hold --ttl 600s --on-loss warn
remove
ok "  told of the loss" until_true "$(t_ms 5000)" \
    grep -q "goes on without it" "$dir/said"
ok "  the command goes on" kill -0 "$holder"
true_words "$dir/said"

# One whose name still is that object may be removed.
table truncated
hold --ttl 600s
truncate -s 0 "$(object)"
ended "$holder"
is "$status" 76 "  truncated: 76"
like "$(cat "$dir/said")" "rm --force" "  to be removed"
finish
