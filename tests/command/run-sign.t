#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1, issue 21 A4: the job of `run` cannot reach the table: whatever
# it does to its descriptors, its parent keeps the key.  While any process of
# the job lives, the key stays held, though run itself was killed, and whatever
# another process of the job did.
#
# Otherwise a job without rights could free the key of its parent, or damage the
# table.
. "$(dirname "$0")/lib.sh"

table sign
# What a process that means harm does with every descriptor that it has.  With
# "drop" it has dropped its rights before, if we are root.
hostile=$(cat <<'END'
import ctypes, fcntl, glob, os, socket, struct, sys

if os.getuid() == 0 and sys.argv[1] == "drop":
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # its own /proc/self, as after exec
drop = sys.argv[1] == "drop"
unlock = struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
again = []
paths = glob.glob("/dev/shm/leasehold.*/*.sign")
peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
peer.bind("")  # a name of the kernel's

def sign(fd):
    return socket.socket(fileno=os.dup(fd))

for name in os.listdir("/proc/self/fd"):
    fd = int(name)
    path = "/proc/self/fd/%d" % fd
    try:
        target = os.readlink(path)
        kind = os.fstat(fd).st_mode
    except OSError:
        continue
    if fd < 3 or kind is None:
        continue
    if "leasehold" in target and not target.endswith(".sign"):
        print("leads to", target)
    for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY):
        try:
            new = os.open(path, flags | os.O_NONBLOCK)
            again.append(new)
            os.write(new, b"x" * 100000)
        except OSError:
            pass
    changes = [lambda: fcntl.fcntl(fd, 37, unlock),
               lambda: fcntl.fcntl(fd, 37, lock),
               lambda: os.ftruncate(fd, 0),
               lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
               lambda: fcntl.flock(fd, fcntl.LOCK_UN),
               lambda: os.set_blocking(fd, False),
               lambda: os.read(fd, 100000),
               lambda: os.write(fd, b"x"),
               lambda: socket.socket(fileno=os.dup(fd)).shutdown(2),
               lambda: [sign(fd).connect(p) for p in paths],
               lambda: [peer.sendto(b"x", p) for p in paths],
               lambda: sign(fd).listen(1),
               lambda: sign(fd).bind("\0anything"),
               lambda: sign(fd).setsockopt(1, 8, 0),
               lambda: ctypes.CDLL(None).connect(fd, bytes(16), 16),
               lambda: sign(fd).connect(peer.getsockname())]
    if drop:            # with what is its own it may do as it likes
        changes += [lambda: os.fchmod(fd, 0),
                    lambda: os.fchown(fd, os.getuid(), os.getgid()),
                    lambda: os.unlink(target),
                    lambda: os.rename(target, target + ".away"),
                    lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, os.getppid()),
                    lambda: fcntl.fcntl(fd, fcntl.F_SETFL,
                        os.O_ASYNC | os.O_NONBLOCK),
                    lambda: os.write(again[0], b"x")]
    # the other commands of fcntl that do not wait
    for command in (2, 4, 10, 15, 16, 1024, 1025, 1026, 1027, 1031, 1033, 1036):
        for value in (0, 1, 4096, 1 << 20):
            changes.append(lambda c=command, v=value: fcntl.fcntl(fd, c, v))
    for change in changes:
        try:
            change()
        except (OSError, IndexError, ValueError):
            pass
for fd in again:
    os.close(fd)
os.closerange(3, 1000)
print("done", flush=True)
sys.stdin.read()
END
)
mkfifo "$dir/go"
sleep 60 >"$dir/go" &
mind $!
for mode in keep drop; do
	rm -f "$dir/said"
	"$LEASEHOLD" run k python3 -c "$hostile" $mode <"$dir/go" \
	    >"$dir/said" 3>&- &
	run=$!
	mind $run
	until_true 10000 grep -sq "done" "$dir/said"
	is "$(cat "$dir/said")" "done" \
	    "$mode: no descriptor of the job leads to the table"
	run lh run -n k true
	is "$status" 75 "  it has tried everything with them: the key is held"
	like "$err" "process $run" "  by its parent"
	is "$(lh fsck >/dev/null; echo $?)" 0 "  and the table is sound"
	kill "$run"
	wait "$run" 2>/dev/null
done

"$LEASEHOLD" run k2 bash -c 'sleep 60 & echo $! $$; exec sleep 60' \
    >"$dir/pids" &
run=$!
mind $run
until_true 10000 test -s "$dir/pids"
read -r child job <"$dir/pids"
mind "$child"
kill -KILL "$run"
wait "$run" 2>/dev/null
until_true 5000 bash -c "! kill -0 $job 2>/dev/null"
run lh run -n k2 true
is "$status" 75 "run is killed, one of its job's processes lives: the key is held"
run lh rm
is "$status" 75 "  and the table in use"
like "$err" "left running" "  by what it says"
kill -KILL "$child"
run lh run -w 10s k2 true
is "$status" 0 "the last one is killed: the key is free"

# Two runs around a job: one process of it means harm, another sleeps.
cat >"$dir/tree" <<'END'
sleep 60 &
echo $$ $! $PPID >"$2/pids~"
mv "$2/pids~" "$2/pids"
python3 -c "$3" "$1" <&0 &
echo $! >"$2/enemy"
wait
END
for mode in keep drop; do
	rm -f "$dir/pids" "$dir/said"
	"$LEASEHOLD" run outer "$LEASEHOLD" run inner bash "$dir/tree" $mode \
	    "$dir" "$hostile" <"$dir/go" >"$dir/said" 3>&- &
	run=$!
	mind $run
	until_true 10000 grep -sq "done" "$dir/said"
	read -r job child inner <"$dir/pids"
	read -r enemy <"$dir/enemy"
	mind "$job" "$child" "$inner" "$enemy"
	kill -STOP "$run" "$inner"
	kill -KILL "$run" "$inner"
	wait "$run" 2>/dev/null
	until_true 5000 bash -c "! kill -0 $job 2>/dev/null"
	kill -0 "$child" && kill -0 "$enemy"
	is $? 0 "$mode: both runs are killed, two processes of their job live"
	for key in outer inner; do
		run lh run -n $key true
		is "$status" 75 "  $key is held"
	done
	kill -KILL "$enemy"
	for key in outer inner; do
		run lh run -n $key true
		is "$status" 75 "  the hostile one is killed: $key is held"
	done
	kill -KILL "$child"
	for key in outer inner; do
		run lh run -w 10s $key true
		is "$status" 0 "  the last one is killed: $key is free"
	done
done

# A sign of life that was removed by hand: nobody says that its holder is dead,
# and the error of whoever is refused names the missing file.
rm -f "$dir/pids"
"$LEASEHOLD" run --ttl 60s k3 bash -c 'sleep 60 & echo $! $$; exec sleep 60' \
    >"$dir/pids" &
run=$!
mind $run
until_true 10000 test -s "$dir/pids"
read -r child job <"$dir/pids"
mind "$child" "$job"
live=$(echo "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE".live.*)
rm -f "/dev/shm/leasehold.$(id -u)/${live##*.}"-*.sign
kill -KILL "$run"
wait "$run" 2>/dev/null
run lh run -n k3 true
is "$status" 75 "a sign is lost, and run is killed: the key is held"
like "$err" "its sign of life /dev/shm/leasehold.$(id -u)/${live##*.}-" \
    "  which file is missing"
like "$err" "leasehold-break(1)" "  and what to do"
run lh rm
is "$status" 75 "  the table is in use"
like "$err" "whose sign of life is lost" "  by whom nobody can tell"
run lh break k3
run lh run -n k3 true
is "$status" 0 "  broken: the key is free"
finish
