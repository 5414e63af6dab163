#!/bin/bash
# SPDX-License-Identifier: MIT
# A table for which /dev/shm has no room: the message names all bytes that the
# table needs, whichever part did not fit, and with them it can be made.
#
# Otherwise an operator would enlarge /dev/shm again and again.
. "$(dirname "$0")/lib.sh"

if ! unshare -m true 2>/dev/null; then
	echo "1..0 # SKIP no mount namespaces here"
	exit 0
fi

# in_shm BYTES: make a table where /dev/shm has that size
in_shm() {
	run unshare -m bash -c 'mount -t tmpfs -o "size=$1,mode=1777" none \
	    /dev/shm && exec "$LEASEHOLD" run -n --table room k true' - "$1"
}

# the number in $err
room() {
	[[ $err =~ "no room for the "([0-9]+)" bytes" ]]
	echo "${BASH_REMATCH[1]}"
}

export LEASEHOLD
in_shm 65536
is "$status" 73 "no room: 73"
need=$(room)
in_shm $((need * 3 / 4))
is "$status" 73 "room for a part of it: 73"
is "$(room)" "$need" "  the same number"
in_shm $((need + 131072))
is "$status" 0 "with that room, and some for the files beside it: made"
finish
