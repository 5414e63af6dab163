#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 A2: a table of the machine that is not root's is used only if root's
# /etc/leasehold.conf names its owner.  A fault in that file is reported, and
# the file then counts for nothing.  `init --configured` makes a table as the
# file says.  The script runs in a mount namespace with an /etc and a /dev/shm
# of its own: no option or variable leads to another file.
#
# Otherwise any user could make the machine's table, and break the leases of
# root.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table configured
name=$LEASEHOLD_TABLE
own_places
echo 'worker:x:4711:4712::/:/bin/sh' >>/etc/passwd
echo 'crew:x:4713:' >>/etc/group
conf=/etc/leasehold.conf
system=/dev/shm/leasehold.system/$name.table
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
# shellcheck disable=SC2317
as() {		# as USER GROUP COMMAND...
	local user=$1 group=$2

	shift 2
	setpriv --reuid "$user" --regid "$group" --clear-groups \
	    "$dir/leasehold" "$@"
}
conf() {	# conf LINE...
	printf '%s\n' "$@" >"$conf"
	chmod 644 "$conf"
}
# give USER: the table, and what stands beside it
give() {
	chown "$1" "$system" "${system%.table}".live.*
}

# Someone else's table.
lh init --system --mode 666 >/dev/null
give 4711
for verb in "run k true" "status k" "list" "fsck" "stats" "rm"; do
	# shellcheck disable=SC2086
	run lh ${verb%% *} --system ${verb#"${verb%% *}"}
	is "$status" 77 "not root's, not configured: $verb: 77"
done
like "$err" "$system belongs to user 4711, whom $conf does not name" \
    "  and the owner is named"
like "$err" "[table $name]" "  and what to write"
run as 4711 4712 run --system k true
is "$status" 77 "nor does its owner get at it"
run lh dump --system --json
is "$(jq -r .table.retired <<<"$out" 2>/dev/null)$status" "false0" \
    "root may look what it is"
run as 65534 65534 dump --system
is "$status" 77 "  but nobody else"

# No variable leads to another configuration: every word that the command's file
# has in capitals is set to the name of one.
mkdir -p "$dir/of-a-stranger"
printf '[table %s]\nowner = 4711\n' "$name" >"$dir/of-a-stranger/leasehold.conf"
mapfile -t words < <(grep -aoE '[A-Z][A-Z_]{3,}' "$LEASEHOLD" | sort -u |
    grep -vE '^(LEASEHOLD_(TABLE|SYSTEM|SESSION)|LD_.*)$')
ok "  there are some" test "${#words[@]}" -gt 20
for value in "$dir/of-a-stranger" "$dir/of-a-stranger/leasehold.conf"; do
	run env "${words[@]/%/=$value}" LEASEHOLD_TABLE="$name" \
	    "$LEASEHOLD" run --system k true
	is "$status" 77 "  no variable names another configuration"
done

conf "[table other]" "owner = 4711"
run lh run --system k true
is "$status" 77 "an owner of another table: 77"
conf "[table $name]" "owner = 4714" "group = 1"
run lh run --system k true
is "$status" 77 "another owner of this table: 77"
like "$err" "says that it is user 4714's" "  says so"
for owner in 4711 worker; do
	conf "# remark" "; another" "" "[table other]" "owner = 1" "group = 1" \
	    "  [table   $name ]" "	owner=$owner  "
	run lh run --system k true
	is "$status" 0 "the owner named by root ($owner): 0"
	run as 65534 65534 run --system k true
	is "$status" 0 "  for others as well"
done

# Faults of the file, which are reported.
good=("[table $name]" "owner = 4711")
refused() {	# refused PART NAME
	run lh run --system k true
	is "$status" 77 "$2: 77"
	like "$err" "$1" "  says what"
	give 0
	run lh run --system k true
	is "$status" 0 "  root's is used all the same"
	run lh run --system --table "$name.new" k true
	is "$status" 77 "  but none is made"
	give 4711
	rm -rf "$conf"
}
conf "${good[@]}"
chmod 664 "$conf"
refused "$conf belongs to user 0, with mode 664" "its group may write"
conf "${good[@]}"
chmod 646 "$conf"
refused "with mode 646" "others may write"
conf "${good[@]}"
chmod 600 "$conf"
run as 65534 65534 run --system k true
is "$status" 77 "whoever may not read it does not trust: 77"
like "$err" "cannot read $conf" "  and says so"
conf "${good[@]}"
chown 4711 "$conf"
refused "$conf belongs to user 4711" "it is somebody else's"
conf "${good[@]}"
mv "$conf" /etc/real.conf
ln -s real.conf "$conf"
refused "it is a link" "it is a link"
mkdir "$conf"
refused "is a directory and no file" "it is a directory"
mkfifo "$conf"
refused "is a FIFO and no file" "it is a pipe"
bad() {		# bad LINE_NUMBER PART NAME LINE...
	local line=$1 part=$2 what=$3

	shift 3
	conf "$@"
	refused "$conf:$line: $part" "$what"
}
bad 3 "there is no key 'ownr'" "a key that is none" "${good[@]}" "ownr = 1"
bad 3 "not understood" "a word" "${good[@]}" "owner"
bad 3 "owner: given before" "a key twice" "${good[@]}" "owner = 4711"
bad 1 "'owner' stands in no section" "no section" "owner = 4711" "${good[@]}"
bad 3 "'[tables x]' is no section" "a section that is none" "${good[@]}" \
    "[tables x]"
bad 3 "one name of a table" "two names" "${good[@]}" "[table a b]"
bad 3 "one name of a table" "no name" "${good[@]}" "[table ]"
bad 3 "'[table' is no section" "half a section" "${good[@]}" "[table"
bad 3 "[table $name]: given before" "a table twice" "${good[@]}" "${good[@]}"
bad 4 "owner: there is no user 'nobody-at-all'" "a user that is none" \
    "${good[@]}" "[table x]" "owner = nobody-at-all"
bad 3 "group: there is no group '-1'" "a group that is none" "${good[@]}" \
    "group = -1"
bad 2 "owner: there is no user '4294967295'" "a number that is no user" \
    "[table x]" "owner = 4294967295" "${good[@]}"
bad 2 "[table x]: user 99999 is not in /etc/passwd" "no group" "[table x]" "owner = 99999"
bad 3 "mode: '888'" "a mode that is none" "${good[@]}" "mode = 888"
bad 3 "mode: 060" "a mode without the owner" "${good[@]}" "mode = 060"
bad 3 "durable: 'maybe'" "durable" "${good[@]}" "durable = maybe"
bad 3 "[table $name]: durable needs a mode" "durable for one user" "${good[@]}" "durable = yes"
bad 3 "the line has more than" "a long line" "${good[@]}" "# $(printf '%0600d' 0)"
printf '[table %s]\nowner = 4711\0\n' "$name" >"$conf"
refused "$conf:2: " "a NUL"

# Who may use root's table, which is made for root alone if nothing is said.
lh rm --system --force
run as 65534 65534 run --system k true
is "$status" 77 "there is no table: 77"
like "$err" "let root run 'leasehold init --system --table $name --group GROUP \
--mode 660'" "  says how it is made for a group"
lh init --system >/dev/null
run as 65534 65534 run --system k true
is "$status" 77 "root's alone: 77"
like "$err" "belongs to user 0 (root), with mode 600, so only that user may \
use it, and you are user 65534" "  says whose it is, and who asks"
like "$err" "[table $name] with group and mode = 660 in $conf" "  what to write"
like "$err" "leasehold init --system --configured --table $name" "  what to run"
lh rm --system --force
lh init --system --mode 666 >/dev/null
give 4711

# Root removes what is not trusted.
run as 4711 4712 rm --system --force
is "$status" 77 "its owner cannot remove it: 77"
run lh rm --system --force
is "$status" 0 "root can, with force: 0"
ok "  and it is gone" test ! -e "$system"

# Made as configured.
facts() {
	stat -c '%u %g %a' "$system"
}
run lh init --system --configured
is "$status" 73 "init --configured without a section: 73"
like "$err" "has no section [table $name]" "  says so"
run lh init --configured
is "$status" 64 "init --configured without --system: 64"
conf "[table $name]" "owner = worker" "group = crew" "mode = 660"
run as 4711 4713 run --system k true
is "$status" 77 "its owner cannot make it: 77"
like "$err" "let root run 'leasehold init --system --configured --table $name'" \
    "  says who can, and how"
run lh init --system --configured
is "$status" 0 "init --configured: 0"
is "$(facts)" "4711 4713 660" "  its owner, group and mode"
run as 4711 4712 run --system k true
is "$status" 0 "  its owner uses it"
run as 4715 4713 run --system k true
is "$status" 0 "  and its group"
run as 4715 4715 run --system k true
is "$status" 77 "  and nobody else"
like "$err" "belongs to user 4711 (worker) and group 4713 (crew), with mode \
660" "    says whose the table is"
like "$err" "user 4715 is not in the group" "    why this user may not"
like "$err" "usermod -a -G" "    what to do"
run as 4715 4715 dump --system
is "$status" 77 "  nor looks at it"
like "$err" "user 4715 is not in the group" "    says why"
chmod 640 "$system"
run as 4715 4713 run --system k true
is "$status" 77 "  its group may only read it: 77"
like "$err" "only that user may use it" "    says so"
chmod 660 "$system"
run lh init --system --configured --if-missing
is "$status" 0 "again with --if-missing: 0"
run lh init --system --configured
is "$status" 73 "  without: 73"
give 0
run lh init --system --configured --if-missing
is "$status" 77 "one that is not as configured: 77"
like "$err" "it belongs to user 0 and group 4713 with mode 660, and is to \
belong to user 4711" "  says in what"
give 4711

# Its owner repairs and removes it; its group does not.
poke() {	# poke OFFSET BYTES: in the table
	# shellcheck disable=SC2059
	printf "$2" | dd of="$system" bs=1 seek="$1" conv=notrunc status=none
}
poke $((4096 + 15 * 512 + 7)) '\143'
run as 4711 4712 fsck --system
is "$status" 65 "damaged: 65"
run as 4715 4713 fsck --system --repair
is "$status" 77 "its group cannot repair it: 77"
like "$err" "only root can remove or repair it, and the owner" "  says who can"
run as 4711 4712 fsck --system --repair
is "$status" 0 "its owner repairs it"
run as 4711 4712 run --system -n k sh -c 'echo $LEASEHOLD_FENCE'
is "$status" 0 "  and uses it"
before=$out
bg setpriv --reuid 4715 --regid 4713 --clear-groups "$dir/leasehold" run \
    --system k sleep 100
ok "  its group has a key" until_true 5000 lh status --system k
run as 4711 4712 rm --system
is "$status" 75 "its owner cannot remove it while it is used: 75"
like "$err" "sleep[" "  says by whom"
run as 4715 4713 rm --system --force
is "$status" 77 "its group cannot remove it by force: 77"
run as 4711 4712 rm --system --force
is "$status" 0 "its owner can"
kill "$pid"
ended "$pid"
for user in "4711 4712" "4715 4713"; do
	# shellcheck disable=SC2086
	run as $user run --system k true
	is "$status" 77 "  there is none for $user: 77"
	like "$err" "there is no table $system, and only root can make it" \
	    "    and who makes it"
done
run as 4711 4712 rm --system
is "$status" 1 "  a second time: 1, there is none"
run lh init --system --configured
is "$status" 0 "  root makes it again"
run as 4715 4713 run --system -n k sh -c 'echo $LEASEHOLD_FENCE'
ok "  its tokens go on above" test "$out" -gt "$before"
is "$(stat -c '%u %a' "${system%.table}.removal")" "4711 600" \
    "its file for removals is its owner's"
python3 -c '
import fcntl, os, struct, sys, time

os.setgroups([])
os.setgid(4712)
os.setuid(4711)
fd = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(fd, b"1 4026531836\n", 0)
fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
print("locked", flush=True)
time.sleep(100)' "${system%.table}.removal" >"$dir/locker" &
mind $!
until_true 10000 grep -q locked "$dir/locker"
run lh rm --system
is "$status" 75 "locked by its owner: root waits"
is "${err/process 1/}" "$err" "  and does not believe what stands in it"
like "$err" "which process has $name.removal open" "  says what to look for"
kill $!
wait $! 2>/dev/null
run lh fsck --system --repair
is "$status" 0 "repaired by root"
run lh rm --system
is "$status" 0 "removed by root"
ok "  and nothing is left" test ! -e "${system%.table}.removal"

for o in "--mode 600 --group 4713" "--mode 666" "--group 1" "--durable"; do
	# shellcheck disable=SC2086
	run lh init --system --configured $o
	[ "${o#--mode 600}" = "$o" ] || lh rm --system
	is "$status" "$([ "${o#--mode 600}" = "$o" ] && echo 64 || echo 0)" \
	    "with $o"
done
run lh run --system k true
is "$status" 0 "a job of root's that comes first: 0"
is "$(facts)" "4711 4713 660" "  makes it as configured"
lh rm --system
conf "[table $name]" "owner = worker"
lh init --system --configured >/dev/null
is "$(facts)" "4711 4712 600" "without group and mode: the owner's alone"
lh rm --system
conf "[table $name]" "mode = 660"
lh init --system --configured >/dev/null
is "$(facts)" "0 0 660" "without owner: root's"
lh rm --system

# Its tokens are on disk, and those who use it claim them.
conf "[table $name]" "owner = worker" "group = crew" "mode = 660" "durable = yes"
mount -t tmpfs -o mode=755 none /var/lib
run lh init --system --configured --json
is "$(jq -r .fence_dir <<<"$out")" /var/lib/leasehold "durable: a fence file"
is "$(stat -c '%u %g' "/var/lib/leasehold/leasehold.system.$name.fence")" \
    "0 4713" "  in a directory of root's for its group"
run as 4711 4713 run --system --scope local k true
is "$status" 0 "  its owner acquires in scope local"

finish
