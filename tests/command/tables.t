#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 C1: `leasehold tables` lists every table of the machine, of each
# user: what it has, or why it cannot be read.  It begins no session and changes
# no byte.  The script runs in a mount namespace with a /dev/shm of its own.
#
# Otherwise an operator would have to know each user and each name to find the
# table in which a job hangs, and a table that cannot be read would look idle.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_shm:-}" ] || exec env own_shm=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
own_places
unset LEASEHOLD_TABLE
echo 'worker:x:4711:4712::/:/bin/sh' >>/etc/passwd
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
as() {		# as USER COMMAND...
	local user=$1

	shift
	setpriv --reuid "$user" --regid 4712 --clear-groups "$dir/leasehold" \
	    "$@"
}
# row TABLE MEMBER [UID]
row() {
	lh tables --json | jq -c --arg t "$1" --argjson u "${3:-0}" \
	    "[.[] | select(.table == \$t and .uid == \$u)][0] | $2"
}
# sum: of the bytes of every table, and the names and modes of all files
sum() {
	find /dev/shm -printf '%P %m %u\n' | sort
	cat /dev/shm/leasehold.*/*.table | sha256sum
}

run lh tables
is "$status" 1 "no table: 1"
is "$err" "leasehold: there is no table on this machine" "  and says so"
run lh tables --json
is "$status $out" "1 []" "  JSON: an empty array"
is "$(find /dev/shm -mindepth 1)" "" "  and nothing is made"

# Root's: one with a holder, a waiter and a dead session; an empty, durable one.
lh init --keys 1000 --leases 1024 --table full >/dev/null
bg "$LEASEHOLD" run --table full held sleep 60
holder=$pid
until_true 10000 lh status --table full held
bg "$LEASEHOLD" run --table full held true
waiter=$pid
until_true 10000 bash -c \
    "'$LEASEHOLD' status --json --table full held | jq -e '.waiters[0]'"
lh run --table full free true
bg "$LEASEHOLD" run --table full --on-loss warn dead sleep 60
begun "$pid"
kill -KILL "$pid"
pkill -KILL -P "$pid"
ended "$pid"
lh init --keys 1000 --leases 1024 --table durable --fence-dir "$dir/fence" >/dev/null
lh init --keys 1000 --leases 1024 --table machine --system --mode 640 >/dev/null
as 4711 init --keys 1000 --leases 1024 --table theirs >/dev/null
as 4711 run --table theirs other true
lh init --keys 1000 --leases 1024 --table broken >/dev/null
head -c 4096 /dev/zero >/dev/shm/leasehold.0/notable.table
# a table of another format, whose sum is that of its header otherwise
printf '\x63' | dd of=/dev/shm/leasehold.0/broken.table bs=1 seek=8 \
    conv=notrunc status=none
kill -STOP "$holder" "$waiter"		# they would extend and look
nap 200
before=$(sum)
run lh tables
is "$status" 0 "tables: 0"
is "$(sum)" "$before" "  changes no byte, no file, no mode"
like "$out" "WAITING" "  with a heading"
for t in full durable machine theirs broken notable; do
	is "$(grep -c "^$t " <<<"$out")" 1 "  has $t"
done
read -ra cells < <(grep '^full ' <<<"$out")
is "${cells[*]:1:7}" "user 0 (root) 0600 3 2 1" \
    "  full: whose, mode, keys, held, waiting"
is "$(row full '[.held, .waiting]')" "[2,1]" "JSON: held, also what no process has freed yet; waiting"
is "$(row full .keys)" 3 "  keys"
is "$(row full .sessions)" 3 "  sessions, without one of its own"
is "$(row full .damaged)" false "  damage"
is "$(row full .fence_dir)" '""' "  no fence file"
is "$(row full .version)" "$(lh dump --table full --json | jq .table.format)" \
    "  version"
is "$(row full .path)" '"/dev/shm/leasehold.0/full.table"' "  path"
is "$(row full .error)" null "  no error"
is "$(row durable .fence_dir)" \
    "$(lh dump --table durable --json | jq .table.fence_dir)" \
    "durable: its fence directory"
like "$(row durable .fence_dir)" "$dir/fence" "  which is the one that was named"
is "$(row machine '[.system, .mode]')" '[true,"0640"]' "the machine's"
is "$(row theirs '[.user, .keys, .held]' 4711)" '["worker",1,0]' \
    "root reads a user's, with the user's name"
is "$(row broken '[.keys, .held, .version]')" '[null,null,null]' \
    "of another format: no number, and not 0"
like "$(row broken .error)" "format" "  with the reason"
like "$out" "  /dev/shm/leasehold.0/broken.table" "  in the text too"
like "$(row notable .error)" "notable" "no table: the reason"
rm /dev/shm/leasehold.0/{broken,notable}.table

# limited
is "$(lh tables --json --uid 4711 | jq -c '[.[].table]')" '["theirs"]' "--uid"
is "$(lh tables --json --system | jq -c '[.[].table]')" '["machine"]' "--system"
is "$(lh tables --json --table full | jq -c '[.[].table]')" '["full"]' "--table"
run lh tables --table none
is "$status" 1 "--table of no table: 1"
like "$err" "no table 'none'" "  and says so"
run lh tables --uid 4711 --system
is "$status" 64 "--uid and --system: 64"
run lh tables --uid worker
is "$status" 64 "--uid with a name: 64"

# Another user sees its own, and why not the rest.
chmod 700 /dev/shm/leasehold.0		# a table of others opened it
before=$(sum)
run as 4711 tables
is "$status" 0 "a user: 0"
is "$(grep -c '^theirs ' <<<"$out")" 1 "  has its own"
like "$out" "user 0's tables has mode 0700: only that user and root can look" \
    "  root's directory is closed"
like "$out" "/dev/shm/leasehold.system/machine.table belongs to user 0 (root)" \
    "  and may not use the machine's"
is "$(sum)" "$before" "  which changes nothing"
chmod 755 /dev/shm/leasehold.0
run as 4711 tables --json
is "$(jq -c '[.[] | select(.table == "full")][0] | [.keys, .held, .mode]' \
    <<<"$out")" '[null,null,"0600"]' "an open directory: the table is listed"
like "$(jq -r '[.[] | select(.table == "full")][0].error' <<<"$out")" \
    "only that user and root may look" "  with the reason"

# A user with any number of tables does not keep root from the others.
mkdir -m 700 /dev/shm/leasehold.4712
for ((i = 0; i < 1003; i++)); do
	: >"/dev/shm/leasehold.4712/empty-$i.table"
done
chown -R 4712 /dev/shm/leasehold.4712
run lh tables --json
is "$(jq '[.[] | select(.uid == 4712)] | length' <<<"$out")" 1001 \
    "1003 tables of a user: 1000 rows, and one for the rest"
like "$(jq -r '[.[] | select(.uid == 4712)][-1].error' <<<"$out")" \
    "3 more tables" "  which says how many"
is "$(jq -c '[.[] | select(.table == "durable")][0].keys' <<<"$out")" 0 \
    "  the others have theirs"
rm -r /dev/shm/leasehold.4712

# A directory that is not its owner's, and one that is none, end nothing.
mkdir -m 755 /dev/shm/leasehold.999
cp /dev/shm/leasehold.4711/theirs.table /dev/shm/leasehold.999
chown -R 4711 /dev/shm/leasehold.999
ln -s / /dev/shm/leasehold.1000
: >/dev/shm/leasehold.1001
run lh tables --json
like "$(jq -r '[.[] | select(.path | test("999"))][0].error' <<<"$out")" \
    "belongs to user 4711" "a directory under another number: the reason"
is "$(jq '[.[] | select(.path | test("100[01]"))] | length' <<<"$out")" 0 \
    "links and files are none"

# Without its live file nobody can tell who lives: it is not healthy.
rm /dev/shm/leasehold.0/durable.live.*
run lh tables --json
is "$(jq -c '[.[] | select(.table == "durable")][0] | [.damaged, .keys]' \
    <<<"$out")" "[true,0]" "a live file is missing: damage"
like "$(jq -r '[.[] | select(.table == "durable")][0].error' <<<"$out")" \
    "is missing beside /dev/shm/leasehold.0/durable.table" "  with the reason"
like "$(lh tables)" "(leasehold rm --force --table durable)" "  in words, too"
run lh dump --table durable
is "$status" 65 "  dump: 65"

# A table that ends the process that looks costs its own line alone.
truncate -s 8192 /dev/shm/leasehold.4711/theirs.table
run lh tables --json
is "$status" 0 "a table cut short: 0"
is "$(jq -c '[.[] | select(.uid == 4711 and (.path | test("4711")))][0].held' \
    <<<"$out")" null "  it has no number"
is "$(jq -c '[.[] | select(.table == "durable")][0].keys' <<<"$out")" 0 \
    "  the others have theirs"
kill -CONT "$holder" "$waiter"
finish
