#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: locks on the live file that are none of bytes (flock(2)),
# locks of other bytes, and locks of another file by the same descriptor in turn, do
# not explain why a living holder's byte is locked.
# So beside a process that has them, a repair by force declares no living session
# dead, and its key keeps its holder.
#
# Otherwise a member who runs flock(1) on the live file would have every living
# holder declared dead, by root's own hand.
. "$(dirname "$0")/lib.sh"

compile holder.c

# locked HOW: a process has the live file open, and a lock of that kind
locked() {
	rm -f "$dir/locker"
	python3 -c '
import fcntl, glob, os, resource, struct, sys, time

def lock(kind, first, length):
    fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", kind, os.SEEK_SET, first, length, 0))

fd = os.open(glob.glob(sys.argv[1])[0], os.O_RDWR)
how = sys.argv[2]
if how == "flock":
    fcntl.flock(fd, fcntl.LOCK_EX)
elif how == "shared":
    fcntl.flock(fd, fcntl.LOCK_SH)
elif how == "below":
    lock(fcntl.F_WRLCK, 0, 4096)
elif how == "read":
    lock(fcntl.F_RDLCK, 0, 4096)
elif how == "all":
    lock(fcntl.F_WRLCK, 0, 0)
elif how == "turns":
    live, fd = fd, os.open(sys.argv[3], os.O_RDWR | os.O_CREAT, 0o600)
    lock(fcntl.F_WRLCK, 0, 0)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    places = range(100, min(most, 3600))
print("locked", flush=True)
while how == "turns":
    for of in (live, fd):
        for place in places:
            os.dup2(of, place)
time.sleep(60)' "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.live.*" "$1" "$dir/other" \
	    >"$dir/locker" &
	locker=$!
	mind $locker
	until_true 10000 grep -q locked "$dir/locker"
}

# holds: a living holder of key k
holds() {
	"$dir/holder" >"$dir/holds" &
	living=$!
	mind $living
	until_true 10000 grep -q holds "$dir/holds"
}

for how in flock shared below read turns; do
	table $how
	holds
	locked $how
	run lh fsck --repair --force
	is "$status" 75 "$how beside a living holder: no repair, by force either"
	like "$err" "holder[$living]" "  the holder is named"
	is "${out/declared dead/}" "$out" "  it is not declared dead"
	run lh run -n k true
	is "$status" 75 "  and has its key"
	kill -KILL $living
	wait $living 2>/dev/null
	run_alone lh fsck --repair --force
	is "$status" 0 "  that is killed: repaired"
	kill $locker
	wait $locker 2>/dev/null
done

# every byte is locked, and every record says that a session is beginning in it
table beginning
run lh run k true
is "$status" 0 "a table that nobody uses"
locked all
python3 -c '
import struct, sys

with open(sys.argv[1], "r+b", buffering=0) as f:
    for i in range(1024):
        f.seek(4096 + 512 * i)
        f.write(struct.pack("<Q", (1 << 56) | 2))' \
    "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.table"
run timeout $((30 * slow)) "$LEASEHOLD" fsck --repair --force
is "$((status == 124))" 0 "sessions seem to begin in 1024 locked records: it ends"
kill $locker
wait $locker 2>/dev/null
run_alone lh fsck --repair --force
is "$status" 0 "  the locker is killed: repaired"
finish
