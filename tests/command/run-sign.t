#!/bin/bash
# SPDX-License-Identifier: MIT
# The job of run gets no way to the table: whatever it does to its descriptors,
# its parent keeps the key.  And while any of the job's processes lives, so does
# the key, though run itself was killed.
. "$(dirname "$0")/lib.sh"

table sign
cat >"$dir/job.py" <<'END'
import fcntl, os, socket, struct, sys

lock = struct.pack("hhqqi4x", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)
for name in os.listdir("/proc/self/fd"):
    fd = int(name)
    if fd < 3:
        continue
    for path in ("/proc/self/fd/%d" % fd,):
        try:
            target = os.readlink(path)
        except OSError:
            continue
        if "leasehold" in target:
            print("leads to", target)
        for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY):
            try:
                again = os.open(path, flags | os.O_NONBLOCK)
                os.close(again)
            except OSError:
                pass
    for change in (lambda: fcntl.fcntl(fd, 37, lock),
                   lambda: os.ftruncate(fd, 0),
                   lambda: socket.socket(fileno=os.dup(fd)).shutdown(2)):
        try:
            change()
        except OSError:
            pass
print("done", flush=True)
sys.stdin.read()
END
mkfifo "$dir/go"
sleep 60 >"$dir/go" &
mind $!
"$LEASEHOLD" run k python3 "$dir/job.py" <"$dir/go" >"$dir/said" &
run=$!
mind $run
until_true 10000 grep -q "done" "$dir/said"
is "$(cat "$dir/said")" "done" "no descriptor of the job leads to the table"
run lh run -n k true
is "$status" 75 "it has tried everything with them: the key is held"
like "$err" "process $run" "  by its parent"
is "$(lh fsck >/dev/null; echo $?)" 0 "  and the table is sound"
kill "$run"
wait "$run" 2>/dev/null

"$LEASEHOLD" run k2 bash -c 'sleep 60 & echo $! $$; exec sleep 60' >"$dir/pids" &
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
finish
