#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G4: a table works on a disk's file system as on tmpfs.  Here /dev/shm
# is a directory below /var/tmp.  There the death of a holder is proved under
# each policy, also behind a second sign of life, and the table can be checked
# and removed.
#
# Otherwise no death would be proved on ext4, whose files have no position beyond
# 16 TiB, and a strict holder that was killed would bar its key for ever.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
if [ -z "${disk:-}" ]; then
	disk=$(mktemp -d /var/tmp/leasehold-disk.XXXXXX) || exit 1
	export disk
	chmod 1777 "$disk"
	unshare -m bash -c 'mount --bind "$disk" /dev/shm && exec "$0"' "$0"
	status=$?
	rm -rf "$disk"
	exit $status
fi
. "$(dirname "$0")/lib.sh"
table disk
diag "/var/tmp is on $(stat -f -c %T /dev/shm)"

for policy in lease strict live; do
	bg "$LEASEHOLD" run --policy $policy --ttl 60s $policy sleep 60
	until_true 5000 lh status $policy
	run lh run -n $policy true
	is "$status" 75 "$policy: the key is held"
	kill -KILL "$pid"
	run lh run -w 20s $policy true
	is "$status" 0 "$policy: after its holder's death it is acquired"
	between "$took" 0 "$(t_ms 5000)" "$policy: at once"
done

bg "$LEASEHOLD" run --ttl 60s tree bash -c 'sleep 600 & echo $! >"$0"; wait' \
    "$dir/child"
holder=$pid
until_true 5000 test -s "$dir/child"
mind "$(cat "$dir/child")"
run lh run -n tree true
is "$status" 75 "a tree holds a key"
kill -KILL "$(cat "$dir/child")" "$holder"
run lh run -w 20s tree true
is "$status" 0 "its end is seen, through both signs of life"

lh session open --ttl 60s s >/dev/null
run lh acquire --session s k
is "$status" 0 "a named session acquires a key"
run lh stats
like "$out" '0 looks could not tell' "nobody was blind"
run lh fsck
is "$status" 0 "the table is sound: $out"
run lh session destroy s
is "$status" 0 "the session ends"
run lh rm
is "$status" 0 "the table is removed: $err"
is "$(find /dev/shm -name "$LEASEHOLD_TABLE.live*" | wc -l)" 0 \
    "with its live file"
finish
