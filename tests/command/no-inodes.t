#!/bin/bash
# SPDX-License-Identifier: MIT
# A /dev/shm without a free inode: `run`, which makes a second sign of life, and
# the maker of a table fail with 73 and say what is missing.  Calls that need no
# file succeed.
#
# Otherwise the operator would read of a bad descriptor, and look for the fault
# in the table.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
if [ -z "${inodes:-}" ]; then
	export inodes=1
	# shellcheck disable=SC2016
	exec unshare -m bash -c \
	    'mount -t tmpfs -o nr_inodes=40 none /dev/shm && exec "$0"' "$0"
fi
. "$(dirname "$0")/lib.sh"
table inodes
run lh run k true
is "$status" 0 "there are inodes: a run"
i=0
while (: >"/dev/shm/fill.$i") 2>/dev/null && [ $i -lt 100 ]; do
	i=$((i + 1))
done

fails() {		# fails NAME PART: the last command, with 73
	is "$status" 73 "$1: 73"
	like "$err" "$2 in /dev/shm/leasehold.0" "  says what cannot be made"
	like "$err" "No space left on device" "  why"
	like "$err" "df -i /dev/shm" "  and what to look at"
}
run lh run k true
fails "none is left: run" "cannot make the second sign of life"
run lh run -F --ttl 10s k true
fails "run -F" "cannot make the second sign of life"
table new
run lh list
is "$status" 1 "a question makes no table"
run lh init
is "$status" 73 "a new table: 73"
like "$err" "No space left on device" "  why"
like "$err" "df -i /dev/shm" "  and what to look at"
table inodes
run lh list
is "$status" 0 "a question is answered"
run lh session open --ttl 10s lasting
is "$status" 0 "a named session begins"
run lh acquire --session lasting k
is "$status" 0 "  and acquires"
rm /dev/shm/fill.0
run lh run other true
is "$status" 0 "an inode is free again: a run"
finish
