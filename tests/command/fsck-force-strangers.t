#!/bin/bash
# SPDX-License-Identifier: MIT
# A stranger's processes that are hard to examine do not keep root of the machine
# from a repair by force.  One has unmapped all its memory; the threads of others
# end while they are looked at; the descriptors of one are another file at each
# look.  One has so many that the look takes long: meanwhile others use the table.
#
# Otherwise any local user could keep root from repairing a table, with no other
# remedy than to end all their processes.
if [ "$(id -u)" != 0 ] || [ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ]
then
	echo "1..0 # SKIP needs root of the machine, who sees every process"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
compile stranger.c
chmod 711 "$dir"

# strange ARGUMENT...: a stranger is ready; $stranger.  False: not on this kernel
strange() {
	rm -f "$dir/strange"
	"$dir/stranger" "$@" >"$dir/strange" &
	stranger=$!
	mind $stranger
	until_true 10000 is_ready && grep -q ready "$dir/strange"
}

# shellcheck disable=SC2317
is_ready() {
	grep -q ready "$dir/strange" || gone "$stranger"
}

end_stranger() {
	kill -KILL $stranger
	wait $stranger 2>/dev/null
}

table locked
run lh run k true
lock_in_flight
run_alone lh fsck --repair --force --dry-run
is "$status" 0 "bytes are locked by what is not seen: root repairs by force"
if strange unmapped "$dir/program"; then
	child=$(sed -n 's/^unmapped //p' "$dir/strange")
	is "$(cat "/proc/$child/maps")" "" "a process has unmapped all its memory"
	run_alone lh fsck --repair --force --dry-run
	is "$status" 0 "  it maps nothing: $err"
	end_stranger
else
	skip "no 32-bit programs here" "a process without a mapping"
fi
strange churn 12
is "$?" 0 "12 processes whose threads end at once"
for i in 1 2 3 4 5 6; do
	run_alone lh fsck --repair --force --dry-run
	is "$status" 0 "  they map nothing: look $i: $err"
done
end_stranger
kill -KILL $locker
wait $locker 2>/dev/null

table lost
"$LEASEHOLD" run --policy strict k sleep 100 &
run=$!
mind $run
until_true 10000 lh status k
job=$(lh status --json k | jq '.holders[0].pid')
kill -KILL "$run" "$job"
wait "$run" 2>/dev/null
until_true 5000 gone "$job"
id=$(echo "/dev/shm/leasehold.0/$LEASEHOLD_TABLE".live.*)
rm "/dev/shm/leasehold.0/${id##*.}"-*.sign
strange flip 1000
is "$?" 0 "1000 descriptors are a socket and a pipe by turns"
for i in 1 2 3 4 5 6; do
	run_alone lh fsck --repair --force --dry-run
	is "$status" 0 "  none of them is root's: look $i: $err"
done
end_stranger

if strange tables 100 2000; then
	diag "100 threads, each with a table of its own of 2000 sockets"
	"$LEASEHOLD" fsck --repair --force --dry-run >"$dir/fsck" 2>&1 &
	fsck=$!
	mind $fsck
	refused=0
	while ! gone $fsck; do
		"$LEASEHOLD" run -n other true || refused=$((refused + 1))
	done
	wait $fsck
	# (which is refused if one of those lives at the end)
	like "$(cat "$dir/fsck")" "the session of sleep" \
	    "  root finds the dead session"
	is "$refused" 0 "  meanwhile others are not refused"
	end_stranger
else
	skip "so many descriptors are not allowed" "many tables of descriptors"
fi
run lh fsck --repair --force
like "$out" "is declared dead" "  a dead session whose sign is lost"
run lh run -n k true
is "$status" 0 "  its key is free"
finish
