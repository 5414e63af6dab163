#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 A5: the table's owner gets no session.  All records are in use, or a
# member has locked every byte of the live file, or the table's words, which a
# member can write, say that a repair is unfinished.  The owner can still
# look at the table, break a lease, end a named session, and remove the table.
#
# Otherwise a member could lock the operator out.
. "$(dirname "$0")/lib.sh"

# counts_sessions WHAT: all $sessions; the command has none to leave out
counts_sessions() {
	is "$(lh stats --json | jq .sessions)" "$sessions" \
	    "$1: stats --json counts every session"
	is "$(lh stats | awk '$1 == "sessions" { print $2; exit }')" \
	    "$sessions" "$1: stats, too"
	is "$(lh stats --prometheus | sed -n 's/^leasehold_sessions{.*} //p')" \
	    "$sessions" "$1: stats --prometheus, too"
	like "$(lh top -b -n 1)" " $sessions sessions" "$1: top, too"
}

# look WHAT [STATUS]: the verbs, while $holder has key0; fsck has that status
look() {
	run lh list
	is "$status" 0 "$1: list"
	like "$out" "key0" "  shows the key"
	run lh status key0
	is "$status" 0 "$1: status"
	like "$out" "$holder" "  shows the holder"
	run lh explain key0
	is "$status" 0 "$1: explain"
	like "$out" "$holder" "  shows the holder"
	run lh stats
	is "$status" 0 "$1: stats"
	run lh stats --sessions
	is "$status" 0 "$1: stats --sessions"
	[ -z "${sessions:-}" ] || counts_sessions "$1"
	run lh fsck
	is "$status" "${2:-0}" "$1: fsck"
	run lh verify key0 1
	is "$status" 1 "$1: verify"
	run lh log
	is "$status" 0 "$1: log"
	run lh dump
	is "$status" 0 "$1: dump"
	run lh session list
	is "$status" 0 "$1: session list"
	like "$out" "lasting" "  shows the named session"
	run lh session destroy lasting
	is "$status" 0 "$1: session destroy"
	run lh session list
	is "${out/lasting/}" "$out" "  it has ended"
	run lh break key0
	is "$status" 0 "$1: break"
	like "$(lh status key0; lh log)" "broke" "  the lease is broken"
	run lh rm --force
	is "$status" 0 "$1: rm --force"
}

# lock_bytes FROM: of the live file, but not those of record 0
lock_bytes() {
	rm -f "$dir/locker"
	python3 -c '
import fcntl, glob, os, struct, sys, time

files = glob.glob(sys.argv[1])
fd = os.open(files[0], os.O_RDWR)
for start, end in ((int(sys.argv[2]), 1 << 40),
                   ((1 << 40) + 2, (1 << 40) + (1 << 20))):
    if start < end:
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, start,
            end - start, 0)
        fcntl.fcntl(fd, 37, lock)
print("locked", flush=True)
time.sleep(60)' "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.live.*" "$1" \
	    >"$dir/locker" &
	locker=$!
	mind $locker
	until_true 10000 grep -q locked "$dir/locker"
}

table full
run lh init --sessions 8
is "$status" 0 "a table for few sessions"
is "$(lh session open --ttl 1h lasting)" lasting "a named session"
n=0
while lh run -n "key$n" true 2>/dev/null && [ $n -lt 70 ]; do
	"$LEASEHOLD" run --on-loss warn "key$n" sh -c "echo >'$dir/has$n'
	    exec sleep $((60 * slow))" &
	mind $!
	[ $n -gt 0 ] || holder=$!
	# (by its file: a command that asks may have the last session itself)
	until_true 10000 test -e "$dir/has$n"
	n=$((n + 1))
done
ok "all of its sessions are in use ($n)" [ $n -ge 7 ]
run lh run other true
is "$status" 73 "a run gets none"
like "$err" "1 of them named sessions: destroy or close some" "  and says so"
sessions=$((n + 1))
look "no session"
sessions=

table locked
"$LEASEHOLD" run --on-loss warn key0 sh -c "echo >'$dir/locked-has'
    exec sleep $((60 * slow))" &
holder=$!
mind $holder
# (by its file: the bytes below are locked but for those of the first sessions)
until_true 10000 test -e "$dir/locked-has"
is "$(lh session open --ttl 1h lasting)" lasting "a named session"
lock_bytes 0
run lh run other true
ok "every byte is locked: a run fails ($status)" [ "$status" != 0 ]
like "$err" "locked by python3 (pid $locker): end it" "  and names the locker"
kill "$locker"
wait "$locker" 2>/dev/null
lock_bytes $((1 << 40))
run lh run other true
is "$status" 73 "the bytes of free sessions are locked: 73"
like "$err" "locked by python3 (pid $locker): end it" "  naming the locker"
look "locked"

# what a member can write: that a repair is unfinished
table repairing
lh run -n key0 true
"$LEASEHOLD" run --on-loss warn key0 sleep $((60 * slow)) &
holder=$!
mind $holder
until_true 10000 bash -c "'$LEASEHOLD' status key0 | grep -q $holder"
is "$(lh session open --ttl 1h lasting)" lasting "a named session"
python3 -c '
import struct, sys

with open(sys.argv[1], "r+b", buffering=0) as f:
    f.seek(168)
    f.write(struct.pack("<Q", 0x6a95e3184bd7f02c))
    f.seek(128)
    flags = struct.unpack("<I", f.read(4))[0]
    f.seek(128)
    f.write(struct.pack("<I", flags | 4))' \
    "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.table"
run lh run other true
is "$status" 65 "a repair is unfinished, by the table's words: a run is refused"
run lh list
like "$err" "did not come to its end" "  list says so"
run lh fsck
is "$status" 65 "  and fsck calls it damaged"
like "$out" "a repair is unfinished" "  for that reason"
look "unfinished" 65
finish
