#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that stays in the middle of execve(2) does not make a repair by force
# endless: not one of a stranger, whose file system never answers.  Descriptors of
# such a process still count.
#
# Otherwise any local user could keep root from repairing a table, and keep all
# others out while root tries.
if [ "$(id -u)" != 0 ] || [ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ]
then
	echo "1..0 # SKIP needs root of the machine, who sees every process"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/stalled.sh"
compile holder.c

# lose NAME: a table with a session whose process has ended and whose second sign
# is lost: only a look at all processes tells that nobody has that
lose() {
	table "$1"
	"$LEASEHOLD" run --policy strict k sleep 100 &
	slain $!
	id=$(echo "/dev/shm/leasehold.${2:-0}/$LEASEHOLD_TABLE".live.*)
	rm "/dev/shm/leasehold.0/${id##*.}"-*.sign
}

lose strange
must_stall 65533
timeout -s KILL 0.2 cat "/proc/$stalled/maps" >/dev/null
is $? 137 "a stranger's process is in execve(2), and its maps cannot be read"
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
is "$status" 0 "root's repair by force ends: $err"
like "$out" "is declared dead" "  and finds the dead session"
unstall

table locked
run lh run k true
lock_in_flight
stall 65533
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force
is "$status" 0 "so does one that locks the table while it looks: $err"
unstall
kill -KILL $locker
ended $locker

lose hidden
stall 65533 elsewhere
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
is "$status" 0 "a stranger's socket that cannot be examined is no sign: $err"
unstall
export LEASEHOLD_SYSTEM=1
lose common system
stall 65533 elsewhere
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
is "$status" 75 "in a table of the machine it may be one"
like "$err" "perhaps stalled (pid $stalled), which could not be examined" \
    "  that process is named"
unstall
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
is "$status" 0 "  when it has ended, the repair goes on: $err"
unset LEASEHOLD_SYSTEM

# a process in execve(2) that has every byte locked
table locker
run lh run k true
: >"$dir/stall"
python3 -c '
import fcntl, glob, os, struct, sys

fd = os.open(glob.glob(sys.argv[1])[0], os.O_RDWR)
fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
os.set_inheritable(fd, True)
os.execv(sys.argv[2], sys.argv[2:])' \
    "/dev/shm/leasehold.0/$LEASEHOLD_TABLE.live.*" "$dir/stalled" 0 \
    "$dir/mount" "$dir/fuse" >"$dir/stall" &
stall=$!
until_true 10000 grep -q stalled "$dir/stall"
stalled=$(sed -n 's/^stalled //p' "$dir/stall")
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
like "$out" "are locked by " "bytes are locked: $err"
like "$out" "stalled (pid $stalled)" "  also by a process in execve(2)"
unstall

# a stranger's file with the number of the live file, all bytes of which it has locked
table number
"$dir/holder" >"$dir/holds" &
holder=$!
mind $holder
until_true 10000 grep -q holds "$dir/holds"
STALLED_INODE=$(stat -c %i "/dev/shm/leasehold.0/$LEASEHOLD_TABLE".live.*) \
    stall 65533
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
is "$status" 75 "a stranger's locks of another file explain no byte: $out"
like "$err" "holder[$holder]" "  the holder lives"
unstall
kill -KILL $holder
ended $holder

# the job of a dead holder, which still has its sign
table job
: >"$dir/stall"
# shellcheck disable=SC2016
"$LEASEHOLD" run --policy strict k sh -c '"$1/stalled" 0 "$1/mount" "$1/fuse" &
    echo $! >"$1/main"; wait' sh "$dir" >"$dir/stall" &
run=$!
until_true 10000 test -s "$dir/stall"
stalled=$(sed -n 's/^stalled //p' "$dir/stall")
kill -KILL "$run"
ended "$run"
id=$(echo "/dev/shm/leasehold.0/$LEASEHOLD_TABLE".live.*)
rm "/dev/shm/leasehold.0/${id##*.}-0.sign"
# (it began last of those that have the sign)
run timeout -s KILL 20 "$LEASEHOLD" fsck --repair --force --dry-run
is "$status" 75 "a job in execve(2) keeps its dead holder's lock"
like "$err" "its sign of life is open in stalled (pid $stalled)" \
    "  and is named"
kill -KILL "$(cat "$dir/main")"
finish
