#!/bin/bash
# SPDX-License-Identifier: MIT
# The file of a second sign of life goes when its session's record is reclaimed,
# also by root where it is another user's, and when its table is gone.  The sign
# of a living session stays.
#
# Otherwise /dev/shm would fill with the signs of killed commands.
. "$(dirname "$0")/lib.sh"
place=/dev/shm/leasehold.$(id -u)

# table_id: the id of this test's table, as it is in the names of its signs
table_id() {
	local live

	live=$(echo "$place/$LEASEHOLD_TABLE".live.*)
	echo "${live##*.}"
}
signs() {
	find "$place" -name "$1-*" | wc -l
}

# killed KEY: a run and its job are killed
killed() {
	"$LEASEHOLD" run "$1" sh -c 'echo $$; exec sleep 60' >"$dir/pid" &
	run=$!
	mind $run
	until_true 10000 test -s "$dir/pid"
	kill -KILL "$run"
	wait "$run" 2>/dev/null
	kill -KILL "$(cat "$dir/pid")" 2>/dev/null
	rm -f "$dir/pid"
}

table signs-left
killed a
id=$(table_id)
is "$(signs "$id")" 1 "a run was killed: its sign's file is there"
run lh fsck --repair
is "$status" 0 "its record is reclaimed"
is "$(signs "$id")" 0 "  and the file is gone"
run lh run -n a true
is "$status" 0 "  the key is free"

bg "$LEASEHOLD" run b sleep 60
living=$pid
until_true 5000 is_held b
killed c
is "$(signs "$id")" 2 "two, one of them of a living session"
lh fsck --repair --force 2>/dev/null >&2
is "$(signs "$id")" 2 "  neither goes while its record may be asked for it"
run lh run -n b true
is "$status" 75 "  and the living one's key is held"

# The table's files are removed by hand.
rm -f "$place/$LEASEHOLD_TABLE".*
table signs-left-2
lh init >/dev/null
is "$(signs "$id")" 1 "the table's files are removed by hand: when another \
table is made, the living session's stays"
kill "$living"
ended "$living"
table signs-left-3
killed d
id=$(table_id)
is "$(signs "$id")" 1 "a dead session's is there"
rm -f "$place/$LEASEHOLD_TABLE".*	# (anybody who makes a table may sweep)
touch "$place/0123456789abcdef-x.sign" "$place/0123456789abcdef-1.signs"
table signs-left-4
lh init >/dev/null
is "$(signs "$id")" 0 "  its table is removed by hand: it goes when another \
is made"
is "$(signs 0123456789abcdef)" 2 "  and nothing that is called otherwise"
rm -f "$place"/0123456789abcdef-*

if [ "$(id -u)" = 0 ]; then
	table signs-left-5
	chmod 755 "$dir"
	cp "$LEASEHOLD" "$dir/leasehold"
	lh init --system --mode 666 >/dev/null
	setpriv --reuid 4711 --regid 4711 --clear-groups "$dir/leasehold" run \
	    --system a sh -c 'echo $$; exec sleep 60' >"$dir/pid" &
	mind $!
	until_true 10000 test -s "$dir/pid"
	live=$(echo "/dev/shm/leasehold.system/$LEASEHOLD_TABLE".live.*)
	place=/dev/shm/leasehold.4711
	is "$(signs "${live##*.}")" 1 "another user's, of a table of the machine"
	kill -KILL $!
	wait $! 2>/dev/null
	kill -KILL "$(cat "$dir/pid")" 2>/dev/null
	lh fsck --system --repair >/dev/null
	is "$(signs "${live##*.}")" 0 "  goes when root reclaims its record"
	lh rm --system --forget-tokens 2>/dev/null
	rmdir "$place" 2>/dev/null
else
	skip "not root" "another user's"
	skip "not root" "  goes when root reclaims its record"
fi
finish
