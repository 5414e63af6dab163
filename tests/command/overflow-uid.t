#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantees G1 and G12: in a user namespace the kernel shows every user without a
# number there as the overflow uid (65534).  An owner that is shown so is trusted
# only if it is the caller: nobody of a container, or a process without a number,
# uses its own tables and no other's.  Outside of user namespaces 65534 is a user
# as any other.  Runs in a mount namespace of its own.
#
# Otherwise any user of the machine could make a table with bytes of its choice for
# the nobody of a container, and grant a key twice.
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
shm=/dev/shm/leasehold

user_namespace
# plant DIRECTORY: user 5 makes a table for all there
plant() {
	as 5 sh -c "umask 0; $lh init --mode 666 >/dev/null
	    mv $shm.5 $1; chmod 755 $1"
}
refused() {	# refused NAME
	is "$status" 77 "$1 is refused"
	like "$err" "is each user without a number here" "  because of its owner"
	like "$err" "map its owner" "  with the remedy"
}

# nobody of a container, whose uid is the overflow uid
run inside 65534 "$lh" run k true
is "$status" 0 "nobody of a container has tables"
is "$(stat -c %u $shm.165534)" 165534 "  of its number outside"
run inside 65534 "$lh" acquire --ttl 60s k
is "$status" 0 "  and holds a key"
run inside 65534 "$lh" status k
is "$status" 0 "  which is seen"
run as 165534 "$lh" run -n k true
is "$status" 75 "  by that user outside as well"
run inside 65534 "$lh" fsck
is "$status" 0 "  fsck checks it"
run inside 65534 "$lh" rm --force
is "$status" 0 "  and rm removes it"
run inside 65534 "$lh" init --fence-dir /dev/shm/ranges
is "$status" 0 "a fence directory of nobody's is used"
run inside 65534 "$lh" run k true
is "$status" 0 "  and gives tokens"
rm -rf $shm.165534 /dev/shm/ranges

plant $shm.165534
is "$(inside 65534 stat -c %u $shm.165534)" 65534 \
    "a stranger's directory is shown as nobody's"
for verb in "acquire --ttl 5s k" "status k" fsck "run k true" init "rm --force" \
    dump "session list"; do
	# shellcheck disable=SC2086
	run inside 65534 "$lh" $verb
	refused "$verb in it"
done
run inside 0 "$lh" tables --json
is "$(jq -c '.[] | [.uid, .keys]' <<<"$out")" "[null,null]" \
    "root of the container does not count its keys, nor call it nobody's"
like "$(jq -r '.[].error' <<<"$out")" "without a number" "  and says why"
run inside 0 "$lh" tables
like "$out" "unmapped" "  and calls its owner unmapped"
is "${out/nobody/}" "$out" "  not nobody"
run inside 0 "$lh" tables --uid 165534
is "$status" 77 "tables of a number that nobody has there: 77"
like "$err" "no user has that number in this user namespace" "  says why"
is "${err/there is no table/}" "$err" "  and not that there are none"
run inside 0 "$lh" list --uid 165534
is "$status" 77 "list of that user: 77"
like "$err" "no user has that number in this user namespace" "  says why"
rm -rf $shm.165534

# ... which was put into nobody's own directory by root outside
inside 65534 "$lh" init >/dev/null
as 5 "$lh" init --mode 666 >/dev/null
mv $shm.5/default.* $shm.165534
run inside 65534 "$lh" run k true
refused "a table of a stranger's in an own directory"
rm -rf $shm.5 $shm.165534

# the live file of an own table
inside 65534 "$lh" init >/dev/null
chmod 666 $shm.165534/default.live.*
chown 5 $shm.165534/default.live.*
run inside 65534 "$lh" run k true
is "$status" 65 "a stranger's live file is refused"
chown 165534 $shm.165534/default.live.*
run inside 65534 "$lh" run k true
is "$status" 0 "  given back, the table works"
rm -rf $shm.165534

# a fence directory of a stranger's, and one of a group without a number
for owner in 5:5 100001:60; do
	ranges=/dev/shm/ranges/leasehold.165534.default.fence
	mkdir -p $ranges
	chmod 755 /dev/shm/ranges
	chmod 775 $ranges
	chown "$owner" $ranges
	run inside 65534 "$lh" init --fence-dir /dev/shm/ranges
	is "$status" 77 "a fence directory of $owner is refused"
	like "$err" "directory of token ranges, $ranges, belongs to" \
	    "  and named"
	rm -rf $shm.165534 /dev/shm/ranges
done

# processes without a number: the first user has tables, the second is refused
run as 5 unshare -U "$lh" init --mode 666
is "$status" 0 "a process without a number makes a table"
is "$(stat -c %u $shm.65534)" 5 "  which is its user's"
run as 5 unshare -U "$lh" run k true
is "$status" 0 "  and uses it again"
run as 1 unshare -U "$lh" acquire --ttl 5s mine
refused "another user's process without a number"
run as 65534 "$lh" run k true
is "$status" 77 "nobody outside is refused, too"
like "$err" "belongs to user 5" "  and gets the owner's number"
rm -rf $shm.65534

# outside of user namespaces it is a user as any other
run as 65534 "$lh" run k true
is "$status" 0 "nobody outside has tables"
run as 65534 "$lh" fsck
is "$status" 0 "  and looks at them"
run as 65534 "$lh" rm --force
is "$status" 0 "  and removes them"
finish
