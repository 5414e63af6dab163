#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: a repair by force in a container sees not all processes of the
# machine.  So it declares no session dead whose byte is locked, nor one whose
# second sign of life is lost, whatever the words of the session's record say.
# The same without the capabilities for it.  Root of the machine sees all.
#
# Otherwise root of a container would declare a living holder on the host dead,
# after a member wrote one number into the holder's record.
if [ "$(id -u)" != 0 ] || [ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ] ||
    ! unshare -pf --mount-proc true 2>/dev/null; then
	echo "1..0 # SKIP needs root of the machine, and pid namespaces"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
compile holder.c

# inside COMMAND...: in a pid namespace of its own
inside() {
	unshare -pf --mount-proc "$@"
}

# poke OFFSET VALUE: into the first record
poke() {
	python3 -c '
import struct, sys

with open(sys.argv[1], "r+b", buffering=0) as f:
    f.seek(4096 + int(sys.argv[2]))
    f.write(struct.pack("<Q", int(sys.argv[3])))' "$(object)" "$@"
}

is_refused() {
	run "$@" "$LEASEHOLD" fsck --repair --force
	is "$status" 75 "  no repair, by force either"
	like "$err" "that you may not see" "  because not all processes are seen"
	is "$out" "" "  nothing is declared dead"
}

table container
"$dir/holder" >"$dir/holds" &
living=$!
mind $living
until_true 10000 grep -q holds "$dir/holds"
diag "a holder outside, seen from a container"
is_refused inside
# the inode of a pid namespace is in the record at 16, its process at 8
for number in 0 4026532999 "$(inside stat -Lc %i /proc/self/ns/pid)"; do
	poke 16 "$number"
	diag "its record says pid namespace $number"
	is_refused inside
done
# shellcheck disable=SC2016
run inside bash -c 'stat -Lc %i /proc/self/ns/pid; exec "$0" fsck --repair --force' \
    "$LEASEHOLD"
is "$status" 75 "  the same in one more container"
poke 0 0
diag "its record says that it is free"
is_refused inside
diag "without the capabilities to look at others"
few=-sys_ptrace,-perfmon,-sys_admin
is_refused setpriv --bounding-set $few --inh-caps $few
run lh fsck --repair --force
is "$status" 75 "outside, the holder is seen"
like "$err" "holder (pid $living)" "  and named"
kill -KILL $living
wait $living 2>/dev/null
run_alone lh fsck --repair --force
is "$status" 0 "  that is killed: repaired"

table lost
"$LEASEHOLD" run --policy strict k bash -c 'sleep 60 & echo $! $$; exec sleep 60' \
    >"$dir/pids" &
run=$!
mind $run
until_true 10000 test -s "$dir/pids"
read -r child job <"$dir/pids"
mind "$child"
kill -KILL $run
wait $run 2>/dev/null
until_true 5000 gone "$job"
live=$(echo "/dev/shm/leasehold.0/$LEASEHOLD_TABLE".live.*)
rm "/dev/shm/leasehold.0/${live##*.}"-*.sign
diag "a sign of life is lost, and held outside"
run unshare -n unshare -pf --mount-proc "$LEASEHOLD" fsck --repair --force
is "$status" 75 "in a container with a network of its own: no repair"
like "$err" "second signs of life of 1 sessions are lost" "  and it says why"
run unshare -n "$LEASEHOLD" fsck --repair --force
is "$status" 75 "in a network of its own alone"
like "$err" "sleep (pid $child)" "  the process is found"
kill -KILL "$child"
until_true 5000 gone "$child"
run_alone lh fsck --repair --force
is "$status" 0 "outside, it is declared dead"
finish
