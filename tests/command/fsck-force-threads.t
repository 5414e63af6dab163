#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G1: a repair by force looks at every thread of a process.  A holder
# whose first thread has ended is not declared dead, nor is a session whose second
# sign of life only another thread has open.  A process that has locked bytes is
# named, wherever it keeps the descriptor.
#
# Otherwise root would declare a living process dead because its main() has
# returned by pthread_exit(), and a member could hide that it bars the others.
if [ "$(id -u)" != 0 ] || [ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ]
then
	echo "1..0 # SKIP needs root of the machine, who sees every process"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
compile holder.c
compile keeper.c

live_file() {
	echo "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE".live.*
}

# shellcheck disable=SC2317
first_has_ended() {
	grep -q "^State:.*Z" "/proc/$1/status"
}

table ended
"$dir/holder" ended >"$dir/holds" &
living=$!
mind $living
until_true 10000 grep -q holds "$dir/holds"
ok "a holder's first thread has ended" until_true 5000 first_has_ended $living
run lh fsck --repair --force
is "$status" 75 "  no repair, by force either"
like "$err" "holder[$living]" "  because of that holder"
is "$out" "" "  which is not declared dead"
run lh run -n k true
is "$status" 75 "  and has its key"
kill -KILL $living
wait $living 2>/dev/null
run_alone lh fsck --repair --force
is "$status" 0 "  that is killed: repaired"

# a job with the sign of life of a run that was killed, whose file is gone
for how in ended own high; do
	table sign-$how
	rm -f "$dir/keeps"
	"$LEASEHOLD" run --policy strict k "$dir/keeper" $how >"$dir/keeps" &
	run=$!
	mind $run
	until_true 10000 grep -q keeps "$dir/keeps"
	read -r _ job <"$dir/keeps"
	mind "$job"
	kill -KILL $run
	wait $run 2>/dev/null
	id=$(live_file)
	rm "/dev/shm/leasehold.$(id -u)/${id##*.}"-0.sign
	run lh fsck --repair --force
	is "$status" 75 "a job has the sign of life, $how: no repair"
	like "$err" "(pid $job)" "  the job is named"
	run lh run -n k true
	is "$status" 75 "  its key is held"
	kill -KILL "$job"
	until_true 5000 gone "$job"
	run_alone lh fsck --repair --force
	is "$status" 0 "  that is killed: repaired: $err"
	run lh run -n k true
	is "$status" 0 "  and the key is free"
done

for how in ended own high ring; do
	table lock-$how
	rm -f "$dir/keeps"
	run lh run k true
	"$dir/keeper" $how "$(live_file)" >"$dir/keeps" &
	locker=$!
	mind $locker
	if ! until_true 10000 grep -q keeps "$dir/keeps"; then
		skip "no io_uring here" "a locked file, $how"
		continue
	fi
	run lh run -n k true
	is "$status" 75 "every byte is locked, $how: nobody can begin a session"
	like "$err" "keeper (pid $locker)" "  and the locker is named"
	run lh fsck --repair
	like "$err" "keeper (pid $locker)" "  by a repair, too"
	kill -KILL $locker
	wait $locker 2>/dev/null
	run lh run -n k true
	is "$status" 0 "  that is killed: the key is free"
done
finish
