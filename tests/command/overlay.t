#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: on overlayfs a mapping keeps no lock of the file that was mapped,
# so no sign of life would last.  A table is neither made nor opened there, and
# the message says what to do.  Below a tmpfs that is mounted on it all is as
# usual.  Runs in a mount namespace of its own.
#
# Otherwise every living holder on a /dev/shm that belongs to a container's image
# would count as dead.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table overlay
own_places
mkdir /dev/shm/{lower,upper,work,merged}
below=/dev/shm
if ! mount -t overlay none -o "lowerdir=$below/lower,upperdir=$below/upper,workdir=$below/work" \
    "$below/merged" || ! mount --bind "$below/merged" /dev/shm; then
	echo "1..0 # SKIP no overlayfs here"
	finished=1
	exit 0
fi

run lh init
is "$status" 64 "no table is made on overlayfs"
like "$err" "keep a byte lock through a mapping" "  the message says why"
like "$err" "mount a tmpfs on /dev/shm" "  and what to do"
run lh run -n k true
is "$status" 64 "nor by a run: $err"
is "$(find /dev/shm -name '*.table')" "" "no table is there"
run lh session open --ttl 60s s
is "$status" 64 "no named session either"
mount -t tmpfs -o mode=1777 none /dev/shm
run lh init
is "$status" 0 "with a tmpfs on it, one is made"
bg "$LEASEHOLD" run --policy strict k sleep 60
until_true 5000 lh status k
run lh run -n k true
is "$status" 75 "and its holder keeps its key"
finish
