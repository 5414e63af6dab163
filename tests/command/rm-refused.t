#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: a removal that is refused changes nothing, also with --force.
# The name of the table is a mount point for the process that removes it, or the
# directory is append-only.  In both cases the holder keeps its key, nobody else
# gets it, and the directory is as it was.  Runs in a mount namespace of its own.
#
# Otherwise rm would say that the table stays, after it had taken it from its
# users, and the next process would hold the key beside the first.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table refused
own_places
place=/dev/shm/leasehold.0
object=$place/$LEASEHOLD_TABLE.table

# (where no name can be removed, the lock's file stays until the next removal)
names() {
	find "$place" ! -name '*.removal' -printf '%f %i\n' | sort
}

is_held() {
	run lh status k
	is "$status" 0 "$1: the key is held"
	run lh explain k
	like "$out" "$holder" "  by the same process"
	run lh run -n k true
	is "$status" 75 "  nobody else gets it"
	ok "the holder goes on" kill -0 "$holder"
}

bg "$LEASEHOLD" run --policy strict k sleep 100
holder=$pid
until_true 5000 lh status k
before=$(names)

# shellcheck disable=SC2016
run unshare -m sh -c 'mount --bind "$1" "$1" && exec "$2" rm --force' - \
    "$object" "$LEASEHOLD"
is "$status" 75 "a mount point: rm --force is refused"
like "$err" "stays: $object is a mount point: unmount it" "  and the message says why"
is "$(names)" "$before" "  the directory is as it was"
is_held "a mount point"

if chattr +a "$place" 2>/dev/null; then
	run lh rm --force
	is "$status" 77 "an append-only directory: rm --force is refused"
	like "$err" "append-only" "  and the message says why"
	run lh status k
	is "$status" 0 "  the key is held"
	chattr -a "$place"
	is "$(names)" "$before" "  the directory is as it was"
	is_held "append-only"
else
	skip "no append-only directories in /dev/shm" \
	    "an append-only directory: rm --force is refused"
fi

rm -f "${object%.table}.removal"
mkfifo "${object%.table}.removal"
run lh rm --force
is "$status" 65 "a FIFO where the lock is to be: rm --force is refused"
like "$err" ".removal beside $object is not a regular file: remove it" \
    "  and the message says why"
rm "${object%.table}.removal"
is_held "a FIFO"

run lh rm
is "$status" 75 "in use: rm is refused"
is "$(names)" "$before" "  the directory is as it was"
run lh rm --force
is "$status" 0 "rm --force removes it"
run lh run -n k true
is "$status" 0 "a new table is made"
finish
