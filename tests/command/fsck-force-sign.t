#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: a repair by force asks the second signs of life themselves.
# After `run` was killed, its job keeps the key, although a member has written
# into the record that the session has no sign, or that it is another user's.
#
# Otherwise one word of a member would have a living job declared dead, by
# root's own hand, and a second one would begin.
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
	id=$(echo "/dev/shm/leasehold.0/$LEASEHOLD_TABLE".live.*)
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
	run lh fsck --repair --force
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
finish
