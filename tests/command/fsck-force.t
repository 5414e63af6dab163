#!/bin/bash
# SPDX-License-Identifier: MIT
# `fsck --repair --force`: an operator declares sessions dead that nobody can
# prove dead, because a member has removed their second sign of life or has
# locked bytes of others.  A session that is seen alive is never declared dead,
# whatever its record says (guarantee G1); and words of a record alone never keep
# the owner from a repair.
#
# Otherwise the repair of a broken table would need a restart of the machine, or
# would free the key of a living job.
if [ "$(id -u)" != 0 ] || [ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ]
then
	echo "1..0 # SKIP needs root of the machine, who sees every process"
	exit 0
fi
. "$(dirname "$0")/lib.sh"

# undead KEY: a run was killed, and what it started; its sign's file was removed
undead() {
	local file="$dir/pids.$1" run child job

	rm -f "$file"
	"$LEASEHOLD" run "$1" bash -c 'sleep 60 & echo $! $$; exec sleep 60' \
	    >"$file" &
	run=$!
	mind $run
	until_true 10000 test -s "$file"
	read -r child job <"$file"
	mind "$child"
	kill -KILL "$run"
	wait "$run" 2>/dev/null
	until_true 5000 bash -c "! kill -0 $job 2>/dev/null"
	killed=$run heir=$child
	id=$(echo "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE".live.*)
	# the newest record's
	sign=$(printf '%s\n' "/dev/shm/leasehold.$(id -u)/${id##*.}"-*.sign |
	    tail -n 1)
}

table undead
undead k
run lh fsck --repair --force
is "$status" 75 "the run is killed, its child lives: force does not end that"
like "$err" "bash[$killed]" "  it names the session"
mv "$sign" "$dir/sign"
kill -KILL "$heir"
until_true 5000 gone "$heir"
run lh run -n k true
is "$status" 75 "the sign is removed by hand, the child killed: cannot tell"
run lh fsck --repair
is "$status" 75 "  a repair is refused"
like "$err" "--force" "  and it says how to repair"
run lh rm
is "$status" 75 "  a removal, too"
run lh fsck --force
is "$status" 64 "--force alone is a mistake"
run_alone lh fsck --repair --force --dry-run
is "$status" 0 "a dry run with force"
like "$out" "would be done: the session of bash[$killed]" "  says what"
run lh run -n k true
is "$status" 75 "  and changes nothing"
run_alone lh fsck --repair --force
is "$status" 0 "with force"
like "$out" "done: the session of bash[$killed] is declared dead" \
    "  it is declared dead"
run lh run -n k true
is "$status" 0 "  its key is free"
run lh fsck
is "$status" 0 "  the table is sound"
run lh rm
is "$status" 0 "  and can be removed"

table proved
"$LEASEHOLD" run k sleep 60 &
living=$!
until_true 10000 lh status k
kill -KILL "$(lh status --json k | jq '.holders[0].pid')"
wait "$living" 2>/dev/null
run_alone lh fsck --repair --force
is "$status" 0 "the run and its job are gone: with force"
is "${out/declared dead/}" "$out" "  nobody has to declare it dead"
run lh run -n k true
is "$status" 0 "  its key is free"

table beside
"$LEASEHOLD" run other sleep 60 &
living=$!
mind $living
until_true 10000 lh status other
undead k
rm "$sign"
kill -KILL "$heir"
until_true 5000 gone "$heir"
run_alone lh fsck --repair --force
is "$status" 75 "beside a session that lives: no repair"
like "$err" "sleep[$living]" "  because of that one"
like "$out" "session of bash[$killed] is declared dead" \
    "  the other one is declared dead"
run lh run -n k true
is "$status" 0 "  its key is free"
run lh run -n other true
is "$status" 75 "  and the living one holds its own"
kill "$living"
wait "$living" 2>/dev/null

table locked
run lh run k true
is "$status" 0 "a table that nobody uses"
python3 -c '
import fcntl, glob, os, struct, sys, time

fd = os.open(glob.glob(sys.argv[1])[0], os.O_RDWR)
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
fcntl.fcntl(fd, 37, lock)
print("locked", flush=True)
time.sleep(60)' "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.live.*" \
    >"$dir/locker" &
locker=$!
mind $locker
until_true 10000 grep -q locked "$dir/locker"
run lh run k true
is "$status" 75 "a member has locked every byte: a run is refused"
like "$err" "locked by python3 (pid $locker): end it" "  which names it"
is "${err/removed or repaired/}" "$err" "  and no removal"
run lh fsck --repair
is "$status" 75 "a member has locked every byte: no repair"
like "$err" "(pid $locker)" "  which names it"
run_alone lh fsck --repair --force
is "$status" 0 "with force: $err"
like "$out" "(pid $locker)" "  which names it"
run lh rm --force
is "$status" 0 "and it can be removed"

# poke PID FIELD=VALUE...: into the record of that process's session
poke() {
	local pid="$1"
	shift
	python3 -c '
import struct, sys

at = {"state": (0, "Q"), "pid": (8, "I"), "start": (24, "Q")}
with open(sys.argv[1], "r+b", buffering=0) as f:
    for arg in sys.argv[3:]:
        name, value = arg.split("=")
        f.seek(4096 + 512 * int(sys.argv[2]) + at[name][0])
        f.write(struct.pack("<" + at[name][1], int(value)))' \
	    "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.table" \
	    "$(lh dump --json | jq -r ".sessions[] | select(.pid == $pid) |
		.index")" "$@"
}

table forged
"$LEASEHOLD" run --policy strict k sleep 60 &
living=$!
mind $living
until_true 10000 lh status k
poke $living state=0
run lh fsck --repair --force
is "$status" 75 "the record of a living session says that it is free"
like "$err" "(pid $living)" "  its process is named"
run lh run -n k true
is "$status" 75 "  which holds its key still"
kill -KILL $living
wait $living 2>/dev/null
run_alone lh fsck --repair --force
is "$status" 0 "  that is killed: repaired"

table nameless
"$LEASEHOLD" run --policy strict k sleep 60 &
living=$!
mind $living
until_true 10000 lh status k
poke $living pid=0
run lh run -n k true
is "$status" 75 "the record of a holder names no process"
like "$err" "key 'k' is held by a process that its session's record does not" \
    "  its key is not called free"
kill -KILL $living
wait $living 2>/dev/null

table blamed
undead k
poke "$killed" pid=1 "start=$(awk '{print $22}' /proc/1/stat)"
rm "$sign"
kill -KILL "$heir"
until_true 5000 gone "$heir"
run_alone lh fsck --repair --force
is "$status" 0 "a dead session's record names process 1: $err"
run lh run -n k true
is "$status" 0 "  its key is free"

# hide HOW [RECORD...]: locks every byte of the live file through a description
# that is mapped, or in flight; or those of all sessions but these, in their order
hide() {
	local how=$1

	shift
	rm -f "$dir/locker"
	python3 -c '
import array, fcntl, glob, os, socket, struct, sys, time

fd = os.open(glob.glob(sys.argv[1])[0], os.O_RDWR)
but = [(1 << 40) + 2 * int(record) for record in sys.argv[3:]]
firsts = [1 << 40 if but else 0] + [byte + 2 for byte in but]
for first, end in zip(firsts, but + [0]):
    if end == 0 or first < end:
        # F_OFD_SETLKW: another process may look just now
        fcntl.fcntl(fd, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET,
            first, end - first if end else 0, 0))
if sys.argv[2] == "mapped":
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
        ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mmap(None, 4096, 1, 1, fd, 0)
else:
    a, b = socket.socketpair()
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
        array.array("i", [fd]))])
os.close(fd)
print("locked", flush=True)
time.sleep(60)' "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.live.*" "$how" "$@" \
	    >"$dir/locker" &
	locker=$!
	mind $locker
	until_true 10000 grep -q locked "$dir/locker"
}

table hidden
run lh run k true
is "$status" 0 "a table that nobody uses"
hide mapped
run lh fsck --repair
is "$status" 75 "every byte is locked through a mapping: no repair"
like "$err" "(pid $locker)" "  which names the process"
run lh fsck --repair --force
is "$status" 75 "nor by force, for that may be a session's"
like "$err" "(pid $locker)" "  it names the process"
kill "$locker"
wait "$locker" 2>/dev/null
hide flying
run lh fsck --repair
is "$status" 75 "a descriptor in flight has every lock: no repair"
like "$err" "cannot be found" "  which says that nobody is seen"
run_alone lh fsck --repair --force
is "$status" 0 "by force: $err"
like "$out" "cannot be found" "  it says so, too"
kill "$locker"
wait "$locker" 2>/dev/null

table innocent
innocent=()
for key in a b; do
	"$LEASEHOLD" run $key sleep 60 &
	innocent+=($!)
	mind $!
	until_true 10000 lh status $key
done
# (0 and 1; or 2, if another test looked at 1 just then)
hide flying $("$LEASEHOLD" dump | awk '$1 == "session" { print $2 }')
run lh run k true
is "$status" 73 "bytes are locked by what is not seen, beside two holders"
is "${err/pid ${innocent[0]}/}" "$err" "  the first is not named"
is "${err/pid ${innocent[1]}/}" "$err" "  nor the second"
like "$err" "that cannot be identified" "  it says that it cannot be identified"
python3 -c '
import fcntl, glob, os, struct, sys

fd = os.open(glob.glob(sys.argv[1])[0], os.O_RDWR)
fcntl.fcntl(fd, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET,
    (1 << 40) + 20, 2, 0))' "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.live.*" &
waiter=$!
mind $waiter
until_true 10000 grep -q ' 0x26 ' /proc/$waiter/syscall
run lh run k true
like "$err" "(pid $waiter) waits" "a process that waits for them is named"
finish
