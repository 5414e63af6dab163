#!/bin/bash
# SPDX-License-Identifier: MIT
# A script closes the descriptor that it has locked with `leasehold flock`, or
# uses it for another file: after a duplicate was made, before it locks the file
# by another descriptor, or while `leasehold flock` waits.
#
# Otherwise a script would wait for itself, or keep a key that nothing guards, or
# go on as if it had locked the file.
. "$(dirname "$0")/lib.sh"
table flock-closed
unset LEASEHOLD_SESSION
run lh init
file=$dir/lock
: >"$file"
key=file:$(stat -c '%d:%i' "$file")
# shellcheck disable=SC2317
{
held() {
	is_held "$key" >/dev/null
}
free() {
	is_free "$key" >/dev/null
}
kernel_free() {
	flock -n "$file" true
}
kernel_held() {
	! kernel_free
}
waits_for_file() {
	grep -q locks_lock_inode_wait "/proc/$1/wchan" 2>/dev/null ||
	    [ "$(cut -d' ' -f1 "/proc/$1/syscall" 2>/dev/null)" = 73 ]
}
}

# A duplicate, and the descriptor is closed.
for mode in -x -s; do
	exec 9>"$file"
	run lh flock $mode 9
	exec 8>&9 9>&-
	ok "$mode: locked by 9, which is closed; its duplicate 8 is open" held
	run lh flock -u 8
	is "$status" 0 "  unlocked by the duplicate: 0"
	ok "  the key is free" free
	ok "  and the file" kernel_free
	exec 8>&-
done
exec 9>"$file" 8>"$file"
run lh flock 9
run lh flock -u 8
ok "another open file is no duplicate: the key stays held" held
ok "  and the file" kernel_held
run lh flock -u 9
exec 8>&- 9>&-

# Closed, which unlocks the file, and locked by another number.
for mode in -x -s; do
	exec 9>"$file"
	run lh flock $mode 9
	exec 9>&- 8>"$file"
	run lh flock -n 8
	is "$status/$err" 0/ "$mode: 9 was closed: locked anew by 8"
	ok "  the key is held" held
	ok "  and the file" kernel_held
	is "$(lh session list --json | jq length)" 1 "  by one session"
	run lh flock -u 8
	ok "  unlocked: free" free
	exec 8>&-
done
exec 9>"$file"
run lh flock 9
exec 8>"$file"
flock -u 9
run lh flock -w 5 8
is "$status" 0 "9 was unlocked by flock(1): 8 gets it"
run lh flock -u 8
exec 8>&- 9>&-

# A child has the descriptor still: the file is locked.
exec 9>"$file"
run lh flock 9
sleep 100 8>&- &
child=$!
mind "$child"
exec 9>&- 8>"$file"
run lh flock -n 8
is "$status" 75 "9 was closed here, but not in a child: 75"
like "$err" "and has closed that since; the file is locked still" "  says so"
ok "  the key is held" held
kill "$child"
wait "$child" 2>/dev/null
run lh flock -n 8
is "$status/$err" 0/ "the child has ended: locked by 8"
run lh flock -u 8
exec 8>&-

# While it waits: closed, another file there.
# shellcheck disable=SC2016
for how in '9>&-' '9>"$dir/other"' '9>"$file"'; do
	flock "$file" sleep 100 &
	old=$!
	mind "$old" "$(pgrep -P "$old")"
	until_true 5000 kernel_held
	exec 9>"$file"
	"$LEASEHOLD" flock 9 2>"$dir/err" &
	asker=$!
	mind "$asker"
	until_true 5000 waits_for_file "$asker"
	eval "exec $how"
	pkill -KILL -P "$old"
	kill -KILL "$old" 2>/dev/null
	wait "$old" 2>/dev/null
	wait "$asker"
	is $? 76 "exec $how in the wait: 76"
	like "$(cat "$dir/err")" "nothing is locked" "  says so"
	ok "  the key is free" free
	ok "  and the file" kernel_free
	is "$(lh session list --json)" "[]" "  no session is left"
	exec 9>&-
done
finish
