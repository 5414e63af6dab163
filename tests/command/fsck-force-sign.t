#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: a repair by force asks the second signs of life themselves.
# After `run` was killed, its job keeps the key, although a member has written
# into the record that the session has no sign, or that it is another user's.
#
# It is kept, too, if the sign's file is gone and its network namespace has no
# thread left.  A stranger's socket of the same name is no sign, nor is a line
# that its name puts into /proc/net/unix.
#
# Otherwise one word of a member would have a living job declared dead, by
# root's own hand, and a second one would begin; or a stranger would keep root
# from a repair.
if [ "$(id -u)" != 0 ] || [ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ]
then
	echo "1..0 # SKIP needs root of the machine, who sees every process"
	exit 0
fi
. "$(dirname "$0")/lib.sh"

# orphan [COMMAND...]: a run is killed; $child, which it started, lives.  The
# table's id is $id; COMMAND starts the run
orphan() {
	local file="$dir/pids" run job

	rm -f "$file"
	"$@" "$LEASEHOLD" run --policy strict k bash -c \
	    'sleep 60 & echo $! $$; exec sleep 60' >"$file" &
	run=$!
	mind $run
	until_true 10000 test -s "$file"
	read -r child job <"$file"
	mind "$child"
	kill -KILL "$run"
	wait "$run" 2>/dev/null
	until_true 5000 gone "$job"
	id=$(echo "/dev/shm/leasehold.${user:-0}/$LEASEHOLD_TABLE".live.*)
	id=${id##*.}
}

# poke SIGN: those 4 bytes into the words of the first record about its sign
poke() {
	python3 -c '
import struct, sys

with open(sys.argv[1], "r+b", buffering=0) as f:
    for at in 52, 124:
        f.seek(4096 + at)
        f.write(struct.pack("<I", int(sys.argv[2])))' "$(object)" "$1"
}

is_kept() {
	run lh fsck --repair --force
	is "$status" 75 "$1: no repair, by force either"
	is "${out/declared dead/}" "$out" "  nothing is declared dead"
	like "$err" "sleep (pid $child)" "  the process is named"
}

is_freed() {
	kill -KILL "$child"
	until_true 5000 gone "$child"
	run_alone lh fsck --repair --force
	is "$status" 0 "  that is killed: repaired"
	run lh run -n k true
	is "$status" 0 "  its key is free"
}

table wordless
orphan
poke 0
is_kept "the record says that there is no sign"
is_freed

table elsewhere
orphan
poke $((0x5a3c96e1 ^ 4711))
is_kept "the record names another user's sign"
is_freed

table unseen
orphan
poke 0
few=-sys_ptrace,-perfmon,-sys_admin
run setpriv --bounding-set $few --inh-caps $few "$LEASEHOLD" fsck --repair \
    --force
is "$status" 75 "the same where not all processes are seen: no repair"
is "${out/declared dead/}" "$out" "  nothing is declared dead"
is_freed
# lose: the sign's file is removed
lose() {
	rm "/dev/shm/leasehold.0/$id-0.sign"
}

if unshare -n true 2>/dev/null; then
	table moved
	orphan unshare -n
	is_kept "in a network namespace of its own"
	lose
	run setpriv --bounding-set -sys_admin --inh-caps -sys_admin \
	    "$LEASEHOLD" fsck --repair --force
	is "$status" 75 "its file is gone, and nobody may enter that: no repair"
	is "${out/declared dead/}" "$out" "  nothing is declared dead"
	is_freed

	table left
	# the job is in our network, and has the sign of another one open
	export ours=$$
	cat >"$dir/bash" <<-'END'
		#!/bin/sh
		exec nsenter --net="/proc/$ours/ns/net" /bin/bash "$@"
	END
	chmod +x "$dir/bash"
	orphan env PATH="$dir:$PATH" unshare -n
	lose
	is "$(readlink "/proc/$child/ns/net")" "$(readlink /proc/$$/ns/net)" \
	    "the job has left the network namespace of its sign"
	is_kept "which is held, and its file is gone"
	is_freed

	table moving
	# and moves it between two descriptors all the time
	cat >"$dir/sleep" <<-'END'
		#!/usr/bin/python3
		import os, time

		signs = [int(f) for f in os.listdir("/proc/self/fd") if
		    int(f) > 2 and os.path.lexists("/proc/self/fd/" + f) and
		    os.readlink("/proc/self/fd/" + f).startswith("socket:")]
		end = time.monotonic() + 60
		while time.monotonic() < end:
		    for f in signs:
		        os.dup2(f, f + 500)
		        os.close(f)
		        os.dup2(f + 500, f)
		        os.close(f + 500)
	END
	chmod +x "$dir/sleep"
	orphan env PATH="$dir:$PATH" unshare -n
	lose
	for i in 1 2 3 4 5; do
		is_kept "a job that moves it all the time, look $i"
	done
	rm "$dir/sleep"
	is_freed
fi

# make_strange: a place where a stranger can make names
make_strange() {
	mkdir -p "$dir/strange"
	chmod 711 "$dir"
	chmod 777 "$dir/strange"
	rm -f "$dir/strange/ready"
}

# imitate HOW: a stranger binds a socket with the name of the sign
imitate() {
	make_strange
	python3 -c '
import array, os, socket, sys, time

os.setgroups([])
os.setgid(65533)
os.setuid(65533)
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("./" + sys.argv[2])
os.unlink(sys.argv[2])
if sys.argv[3] == "flying":
    a, b = socket.socketpair()
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
        array.array("i", [s.fileno()]))])
    s.close()
open("ready", "w")
time.sleep(60)' "$dir/strange" "$id-0.sign~" "$1" &
	stranger=$!
	mind $stranger
	until_true 10000 test -e "$dir/strange/ready"
	is "$?" 0 "a stranger has a socket of the sign's name, $1"
}

for how in open flying; do
	table imitated-$how
	orphan
	lose
	imitate $how
	is_kept "  and the sign is held"
	is_freed
	kill $stranger
	wait $stranger 2>/dev/null
done

# the table of a user who may not see every process
user=65531
as_user() {
	setpriv --reuid $user --clear-groups "$@"
}
table users
chmod 711 "$dir"
orphan setpriv --reuid $user --clear-groups
rm "/dev/shm/leasehold.$user/$id-0.sign"
kill -KILL "$child"
until_true 5000 gone "$child"
run as_user "$LEASEHOLD" fsck --repair --force
is "$status" 75 "a user's table, its owner does not see every process"
like "$err" "leasehold-fsck(1)" "  which says where to read on"
caps=$(sed -n 's/^caps=//p' "$here/../../doc/man/leasehold-fsck.1")
by_manual() {
	setpriv --reuid $user --clear-groups --inh-caps "$caps" \
	    --ambient-caps "$caps" "$LEASEHOLD" fsck --repair --force
}
# (of a process that ends meanwhile not all may be seen)
until_true 10000 by_manual
run as_user "$LEASEHOLD" fsck
is "$status" 0 "  root as that user, by the manual's example: repaired"
run as_user "$LEASEHOLD" run -n k true
is "$status" 0 "  its key is free"
run as_user "$LEASEHOLD" rm --force

user=0
# a stranger's directory, whose name is another way to write root's number
table misplaced
orphan
lose
kill -KILL "$child"
until_true 5000 gone "$child"
place="/dev/shm/leasehold.00"
rm -rf "$place"
mkdir "$place"
chown 65533 "$place"
python3 -c '
import os, socket, sys

os.setgroups([])
os.setgid(65533)
os.setuid(65533)
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[2])
s.set_inheritable(True)
os.execvp("sleep", ["sleep", "60"])' "$place" "$id-0.sign" &
stranger=$!
mind $stranger
until_true 10000 test -S "$place/$id-0.sign"
is "$?" 0 "a stranger has a socket of the sign's name in leasehold.00"
run_alone lh fsck --repair --force
is "$status" 0 "  the job is dead: repaired"
kill $stranger
wait $stranger 2>/dev/null
rm -r "$place"

# forge INODE RECORD COUNT: a stranger binds as many sockets whose names have a
# line in them: a socket with that inode has the name of that record's sign
forge() {
	make_strange
	python3 -c '
import os, socket, sys, time

os.setgroups([])
os.setgid(65533)
os.setuid(65533)
os.chdir(sys.argv[1])
line = "\n0 0 0 0 0 0 %s " % sys.argv[2]
os.mkdir(line)
kept = []
for i in range(int(sys.argv[4])):
    kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    kept[-1].bind(line + "/" + sys.argv[3])
    os.rename(line + "/" + sys.argv[3], str(i))
    kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    kept[-1].bind("\0" + str(i) + line + "/" + sys.argv[3])
open("ready", "w")
time.sleep(60)' "$dir/strange" "$1" "$id-$2.sign~" "$3" &
	stranger=$!
	mind $stranger
	until_true 10000 test -e "$dir/strange/ready"
	is "$?" 0 "a stranger makes up lines of sockets: inode $1, record $2"
}

# until then a dead session would be kept for ever
table forged-dead
orphan
lose
kill -KILL "$child"
until_true 5000 gone "$child"
forge 4242424242 0 1
like "$(cat /proc/net/unix)" "4242424242 /$id-0.sign~" "  which are there"
run_alone lh fsck --repair --force
is "$status" 0 "  the job is dead: repaired"
run lh run -n k true
is "$status" 0 "  its key is free"
kill $stranger
wait $stranger 2>/dev/null

# or a living one would lose its key
table forged-living
orphan
forge "$(awk -v name="$id-0.sign" 'index($8, name) { print $7 }' \
    /proc/net/unix)" 99 200
lose
is_kept "  of the job's own socket, and that is held"
is_freed
kill $stranger
wait $stranger 2>/dev/null
finish
