#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21, guarantee G1: a member of root's table writes the words of a removal
# into it while another member holds a key.  No verb and no daemon removes the
# table.  Root's questions are answered, with a warning; a use is refused; root
# can repair the table when its users have ended, or remove it by force.  A
# removal that the configured owner began, and was killed in, is completed by
# root's next use, but not by a question.
#
# Otherwise root's next `status` would remove a table in use, and a second
# holder would run beside the first.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table member
name=$LEASEHOLD_TABLE
own_places
echo 'worker:x:4711:4712::/:/bin/sh' >>/etc/passwd
echo 'crew:x:4713:' >>/etc/group
system=/dev/shm/leasehold.system/$name.table
chmod 755 "$dir"
cp "$LEASEHOLD" "$dir/leasehold"	# where everybody can run it
# shellcheck disable=SC2317
as() {		# as USER COMMAND...: in the group
	local user=$1

	shift
	setpriv --reuid "$user" --regid 4713 --clear-groups "$@"
}
write_words() {	# write_words USER
	python3 -c '
import os, struct, sys

os.setgroups([])
os.setgid(4713)
os.setuid(int(sys.argv[2]))
with open(sys.argv[1], "r+b", buffering=0) as f:
    f.seek(160)
    f.write(struct.pack("<Q", 0x9d3a5c7162e84fb3))
    f.seek(128)
    flags = struct.unpack("<I", f.read(4))[0]
    f.seek(128)
    f.write(struct.pack("<I", flags | 2))' "$system" "$1"
}
# hold USER: a process of that member holds k; $holder
hold() {
	bg setpriv --reuid "$1" --regid 4713 --clear-groups "$dir/leasehold" \
	    run --system --policy strict k sleep 100
	holder=$pid
	until_true 10000 lh status --system k
}

run lh init --system --mode 660 --group 4713
is "$status" 0 "a table of root's for a group"
hold 4721
inode=$(stat -c %i "$system")
write_words 4722
for verb in "status k" list "explain k" stats; do
	# shellcheck disable=SC2086
	run lh ${verb%% *} --system ${verb#"${verb%% *}"}
	is "$status" 0 "root: $verb"
	like "$err" "neither its owner nor root has begun that" "  with a warning"
done
run lh status --system k
like "$out" "$holder" "  the holder is named"
run lh fsck --system
is "$status" 65 "fsck calls it damaged"
like "$out" "the words of a removal are set" "  for that reason"
for user in 0 4722; do
	run as "$user" "$dir/leasehold" run --system -n k true
	is "$status" 65 "user $user: a run is refused"
done
run lh rm --system
is "$status" 65 "rm without force is refused"
run "$REAPERD" --system --once -t "$name"
is "$(stat -c %i "$system")" "$inode" "the table is there"
ok "its holder goes on" kill -0 "$holder"
run lh fsck --system --repair
is "$status" 75 "it is not repaired under its holder"
kill "$holder"
ended "$holder"
run lh fsck --system --repair
is "$status" 0 "then it is repaired"
run as 4722 "$dir/leasehold" run --system -n k true
is "$status" 0 "  and used"
hold 4721
write_words 4722
run lh rm --system --force
is "$status" 0 "removed by force"
ok "  it is gone" test ! -e "$system"
kill "$holder"

# The configured owner's removal.
printf '%s\n' "[table $name]" "owner = worker" "group = crew" "mode = 660" \
    >/etc/leasehold.conf
run lh init --system --configured
is "$status" 0 "a table of a configured owner"
hold 4721
write_words 4722
run lh status --system k
is "$status" 0 "a member writes the words: root's status"
run as 4711 "$dir/leasehold" status --system k
is "$status" 0 "  and its owner's"
ok "the holder goes on" kill -0 "$holder"
run as 4711 "$dir/leasehold" rm --system --force
is "$status" 0 "its owner removes it by force"
is "$(stat -c %a "$system")" 1660 "  and marks it so"
kill "$holder"
for user in 0 4711 4721; do
	run as "$user" "$dir/leasehold" status --system k
	is "$status" 1 "user $user: there is no table"
done
ok "a question removes no file" test -e "$system"
run lh init --system --configured
is "$status" 0 "root makes it again"
is "$(stat -c %a "$system")" 660 "  without a mark"
is "$(stat -c %a "${system%.table}".live.*)" 660 "  and its live file is in use"
rm -f "$system"
finish
