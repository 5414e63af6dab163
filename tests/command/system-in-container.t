#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 A1: root of a user namespace does not make the machine's directory in a
# /dev/shm that is the machine's.  It is refused (77), with the remedy.  In a
# /dev/shm of the namespace's own it makes it, and uses tables there.  Runs in a
# mount namespace of its own.
#
# Otherwise an ordinary `run --system` in a rootless container would keep the
# machine's root, and everybody else, from the machine's tables.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_shm:-}" ] || exec env own_shm=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
own_places
unset LEASEHOLD_TABLE
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
export lh="$dir/leasehold"
system=/dev/shm/leasehold.system
user_namespace

refused() {	# refused NAME
	is "$status" 77 "$1 is refused"
	like "$err" "/dev/shm is the machine's" "  because of /dev/shm"
	like "$err" "without --system" "  with the remedy"
	ok "  and makes no directory" test ! -e $system
}

for verb in "run --system k true" "init --system" "acquire --system --ttl 5s k"; do
	# shellcheck disable=SC2086
	run inside 0 "$lh" $verb
	refused "root of a container: $verb"
done
run inside 0 unshare -Ur "$lh" run --system k true
refused "root of a namespace in the container"
run inside 1000 "$lh" run --system k true
is "$status" 77 "another user of the container is refused"
run inside 0 "$lh" run k true
is "$status" 0 "a table of its own is used"
run as 1000 "$lh" run --system k true
is "$status" 77 "a user outside is refused, too"
like "$err" "let root run 'leasehold init --system" "  with another remedy"

run unshare -Ur "$lh" run --system k true
is "$status" 0 "the machine's root, in a user namespace, makes it"
is "$(stat -c %u $system)" 0 "  and it is root's"
run lh run --system k true
is "$status" 0 "  which uses it"
run inside 0 "$lh" run --system k true
is "$status" 77 "once it is there, root of the container is refused as well"
like "$err" "$system belongs to user 65534" "  because it is not its own"

# shellcheck disable=SC2016
run inside 0 unshare -m sh -c 'mount -t tmpfs -o mode=1777 none /dev/shm &&
    "$lh" run --system k true && "$lh" fsck --system &&
    stat -c %u /dev/shm/leasehold.system'
is "$status" 0 "with a /dev/shm of its own it makes and uses the directory"
is "${out##*$'\n'}" 0 "  which is its own"
like "$out" "is sound" "  and fsck looks at its table"
finish
