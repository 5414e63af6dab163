#!/bin/bash
# SPDX-License-Identifier: MIT
# test: check-all: waits for a limit of half a minute
# `leasehold tables` of root goes on if a user stops the process that looks at a
# table as that user.  That table, and the user's others, have no number.
#
# Otherwise a user could keep root from listing anybody's tables.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
# (a pid namespace of its own, because a user's processes are stopped there)
[ -n "${own_shm:-}" ] || exec env own_shm=1 unshare -mpf --mount-proc "$0"
. "$(dirname "$0")/lib.sh"
own_places
unset LEASEHOLD_TABLE
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
# looking at one takes less than a millisecond: one of so many is met
mkdir -m 700 /dev/shm/leasehold.4711
for ((i = 0; i < 990; i++)); do
	: >"/dev/shm/leasehold.4711/t$i.table"
done
: >/dev/shm/leasehold.4711/zz.table
chown -R 4711 /dev/shm/leasehold.4711
lh init --keys 1000 --leases 1024 --table z --system >/dev/null
# what the user does: stops each process of their own, but this one
cat >"$dir/stopper" <<'EOF'
while :; do
	kill -STOP -- -1 2>/dev/null
done
EOF
[ "$(ps -e --no-headers | wc -l)" -lt 20 ] || {
	echo "Bail out! not in a pid namespace of its own"
	exit 1
}
bg setpriv --reuid 4711 --regid 4712 --clear-groups bash "$dir/stopper"
# it has begun: it stops another one
setpriv --reuid 4711 --regid 4712 --clear-groups sleep 60 &
mind $!
until_true 10000 is_stopped $!
run timeout 100 "$LEASEHOLD" tables --json
is "$status" 0 "tables: 0"
between "$took" 20000 60000 "  it waits for one table only"
is "$(jq '[.[] | select(.error // "" | test("took more than 30 s"))] | length' \
    <<<"$out")" 1 "  which took too long"
like "$(jq -r '[.[] | select(.table == "zz")][0].error' <<<"$out")" \
    "another table of this directory" "  the last one was not tried"
is "$(jq '[.[] | select(.uid == 4711 and .held != null)] | length' <<<"$out")" 0 \
    "  none of the user's has a number"
is "$(jq -c '[.[] | select(.table == "z").held]' <<<"$out")" "[0]" \
    "  the machine's table has its number"
finish
