#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 C1: `--uid N` lets root look at user N's tables, with each verb that
# reads.  The command becomes that user; it begins no session, and changes no
# file, and nothing but what it frees for the dead in the table.  Verbs that
# change something refuse it.  Others than root get no more than before.
#
# Otherwise root could look at a user's table only by becoming that user by
# hand, or a look would be recorded there as a session.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_shm:-}" ] || exec env own_shm=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
own_places
export LEASEHOLD_TABLE=theirs LEASEHOLD_SYSTEM=1	# for --uid it is no matter
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
as() {		# as USER COMMAND...
	local user=$1

	shift
	setpriv --reuid "$user" --regid 4712 --clear-groups env \
	    -u LEASEHOLD_SYSTEM "$dir/leasehold" "$@"
}
as 4711 init --keys 1000 --leases 1024 >/dev/null
as 4711 run --value v valued true
as 4711 session open --ttl 1h lasting >/dev/null
as 4711 sem run --permits 2 permits true
bg setpriv --reuid 4711 --regid 4712 --clear-groups env -u LEASEHOLD_SYSTEM \
    "$dir/leasehold" run held sleep 60
until_true 10000 as 4711 status held
token=$(as 4711 status --json held | jq -r '.holders[0].token')
events() {
	as 4711 log --json | jq length
}
before=$(events)
found=$(find /dev/shm -printf '%P %m %u\n' | sort)

# looks STATUS PART VERB ARGUMENT...
looks() {
	local want=$1 part=$2

	shift 2
	run lh "$@" --uid 4711
	is "$status" "$want" "$*: $want"
	like "$out" "$part" "  with '$part'"
}
looks 0 held list
looks 0 "uid 4711" status held
looks 0 held explain held
like "$out" "leasehold watch -n 1 --uid 4711 --table theirs 'held'" \
    "  what it advises looks there as well"
like "$out" "setpriv --reuid 4711 leasehold break --table theirs 'held'" \
    "  or is done by that user"
cp --sparse=never /dev/shm/leasehold.4711/theirs.table /dev/shm/leasehold.4711/copy.table
chown 4711 /dev/shm/leasehold.4711/copy.table
run lh list --uid 4711 --table copy
like "$err" "(leasehold rm --force --table copy), then tokens" \
    "an error advises a command"
like "$err" "do that as user 4711 (setpriv --reuid 4711)" "  and whose that is"
rm /dev/shm/leasehold.4711/copy.table
looks 0 "" verify held "$token"
looks 1 "" verify held 1
looks 0 "sessions" stats
looks 0 "is sound" fsck
looks 0 "key held" dump
looks 0 "held" log
looks 0 "" log --at now held
looks 0 "lasting" session list
looks 0 "0 of 2 permits held" sem status permits
looks 0 "v" value get valued
looks 0 "held" top -b -n 1
looks 1 "" watch -w 50ms held
is "$(events)" "$before" "no session and no event is recorded"
is "$(find /dev/shm -printf '%P %m %u\n' | sort)" "$found" "no file is made"
is "$(lh list --uid 4711 --json | jq -r '.[] | select(.key == "held").holders[0].uid')" \
    4711 "the holder is the user's"

# completion asks in the same way
is "$(lh complete status --uid 4711 h)" held "completion of a key"
is "$(lh complete status --uid=4711 --table '')" theirs "  of a table"
is "$(lh complete session list --uid 4711 l)" lasting "  of a session"
is "$(lh complete list --uid 47)" 4711 "  of the user"
is "$(as 4712 complete status --uid 4711 h)" "" "  nothing for others"
is "$(events)" "$before" "  no session and no event is recorded"

# refused
for v in "session destroy lasting" "session open new" "value set k v" \
    "value clear valued" "sem destroy permits" "fsck --repair" \
    "log --grants on"; do
	# shellcheck disable=SC2086
	run lh $v --uid 4711
	is "$status" 64 "$v: 64"
	like "$err" "--uid only looks" "  and says why"
done
for v in "acquire k" "break held" "ask held" "destroy held" \
    "rm" "init" "convert -s k 1 1" "release k 1 1"; do
	# shellcheck disable=SC2086
	run lh $v --uid 4711
	is "$status" 64 "$v: 64"
	like "$err" "--uid" "  it has no such option"
done
run lh list --uid 4711 --system
is "$status" 64 "--uid and --system: 64"
run lh list --uid 4712
is "$status" 1 "a user without a table: 1"
is "$(ls /dev/shm)" "leasehold.4711" "  for whom nothing is made"
run lh list --uid 4294967295
is "$status" 64 "no user's number: 64"

# others
run as 4711 list --uid 4711
is "$status" 0 "the user's own number: 0"
run as 4712 list --uid 4711
is "$status" 77 "another user's: 77"
like "$err" "only root and that user may look" "  and says why"
finish
