#!/bin/bash
# SPDX-License-Identifier: MIT
# `fsck --repair --force`: an operator declares sessions dead that nobody can
# prove dead, because a member has removed their second sign of life or has
# locked bytes of others.  A session that is seen alive is never declared dead
# (guarantee G1).
#
# Otherwise the repair of a broken table would need a restart of the machine, or
# would free the key of a living job.
. "$(dirname "$0")/lib.sh"

# undead KEY: a run was killed, and what it started; its sign's file was removed
undead() {
	local file="$dir/pids.$1" run child job

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
run lh run -n k true
is "$status" 75 "the sign is removed by hand, the child killed: cannot tell"
run lh fsck --repair
is "$status" 75 "  a repair is refused"
like "$err" "--force" "  and it says how to repair"
run lh rm
is "$status" 75 "  a removal, too"
run lh fsck --force
is "$status" 64 "--force alone is a mistake"
run lh fsck --repair --force --dry-run
is "$status" 0 "a dry run with force"
like "$out" "would be done: the session of bash[$killed]" "  says what"
run lh run -n k true
is "$status" 75 "  and changes nothing"
run lh fsck --repair --force
is "$status" 0 "with force"
like "$out" "done: the session of bash[$killed] is declared dead" \
    "  it is declared dead"
run lh run -n k true
is "$status" 0 "  its key is free"
run lh fsck
is "$status" 0 "  the table is sound"
run lh rm
is "$status" 0 "  and can be removed"

table beside
"$LEASEHOLD" run other sleep 60 &
living=$!
mind $living
until_true 10000 lh status other
undead k
rm "$sign"
kill -KILL "$heir"
run lh fsck --repair --force
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
run lh fsck --repair --force
is "$status" 0 "with force: $err"
like "$out" "(pid $locker)" "  which names it"
run lh rm --force
is "$status" 0 "and it can be removed"
finish
