#!/bin/bash
# SPDX-License-Identifier: MIT
# Several tables, named or found; what is no table, or not ours, is left alone
# and said once.

# All that are found: in a /dev/shm of our own, with root's or borrowed rights.
if [ -z "${LH_OWN_SHM:-}" ]; then
	export LH_OWN_SHM=none
	for own in "unshare -m" "unshare -rm"; do
		$own mount -t tmpfs tmpfs /dev/shm 2>/dev/null || continue
		export LH_OWN_SHM=yes
		exec $own bash -c 'mount -t tmpfs -o mode=1777 tmpfs /dev/shm &&
		    exec bash "$0"' "$0"
	done
fi
. "$(dirname "$0")/lib.sh"
if [ "$LH_OWN_SHM" = none ]; then
	skip "no mount namespace can be made" "several tables"
	finish
fi

make() {
	lh init --table "$1" --keys 100 --sessions 16 --leases 1024 >/dev/null
}

is_served() {
	[ "$(metric leasehold_reaper_serving "$1")" = "${2-1}" ]
}

place=/dev/shm/leasehold.$(id -u)
make one
make two
lh init --system --table one --keys 100 --sessions 16 --leases 1024 >/dev/null
echo nonsense >"$place/noise.table"
ln -s /etc/passwd "$place/link.table"
mkfifo "$place/fifo.table"
mkdir "$place/dir.table"
cp "$place/one.table" "$place/cut.table"
truncate -s 8192 "$place/cut.table"
cp --sparse=never "$place/one.table" "$place/old.table"
printf '\1' | dd of="$place/old.table" bs=1 seek=8 conv=notrunc \
    status=none
touch "$place/bad name.table"
export LEASEHOLD_TABLE=one

reaperd_with
for t in one two; do
	ok "$t is found" is_served $t
done
for t in noise link fifo dir cut old; do
	ok "$t is no table, or none of ours: left alone" is_served $t 0
	is "$(times_logged "table $t is not served: ")" 1 "  said why"
done
is "$(times_logged "bad name")" 0 "a name that no table has: nothing"
make three
ok "one that comes is found" until_true 5000 is_served three
lh rm --table two >/dev/null
ok "one that goes is not served any more" until_true 5000 is_served two ""
rm "$place/noise.table"
make noise
ok "one in the place of nonsense is found" until_true 5000 is_served noise
for i in {1..8}; do
	make "many$i"
done
ok "eight more" until_true 5000 is_served many8
for i in {1..8}; do
	bg "$LEASEHOLD" run --table "many$i" -F --ttl 60s k sleep 60
	victims[i]=$pid
done
for i in {1..8}; do
	LEASEHOLD_TABLE=many$i until_true 5000 state_is k held
done
kill -KILL "${victims[@]}"
for i in {1..8}; do
	LEASEHOLD_TABLE=many$i until_true 2000 state_is k free || break
done
is "$i" 8 "the dead of each are buried"
is "$(times_logged "is not served")" 6 "nothing is said twice"
for i in {1..8}; do
	LEASEHOLD_TABLE=many$i run lh fsck
	[ "$status" = 0 ] || break
done
is "$status" 0 "and each is sound"
kill -TERM "$daemon"
ended "$daemon"

reaperd_with --system
is "$(metrics | grep -c '^leasehold_reaper_serving')" 1 \
    "--system: the machine's one table"
ok "  is found" is_served one
kill -TERM "$daemon"
ended "$daemon"

finish
