#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantees G1 and G4: the key of `leasehold flock` belongs to the process that
# called and to its descriptor.  If that process cannot be found, nothing is
# held.  Nobody else's key is released.  A `leasehold flock` that is killed while
# it waits leaves nothing locked.
#
# Otherwise a script that was killed would hold its key for ever, or a script in
# another container would lose it.
. "$(dirname "$0")/lib.sh"
table flock-owner
unset LEASEHOLD_SESSION
run lh init
file=$dir/lock
: >"$file"
key=file:$(stat -c '%d:%i' "$file")
export file
# shellcheck disable=SC2317
{
held() {
	is_held "$key" >/dev/null
}
free() {
	is_free "$key" >/dev/null
}
kernel_free() {		# would flock(1) get it?
	flock -n "$file" true
}
kernel_held() {
	! kernel_free
}
waits() {
	[ "$(waiters "$key")" = 1 ]
}
is_blocked() {		# in flock(2)
	[ "$(cut -d' ' -f1 "/proc/$1/syscall" 2>/dev/null)" = 73 ] ||
	    grep -q locks_lock_inode_wait "/proc/$1/wchan" 2>/dev/null
}
holder() {
	lh status --json "$key" | jq -c '.holders[0] | [.bound, .bound_pid]'
}
}

# The script has ended before its command asks for it.
cat >"$dir/orphan" <<'END'
exec 9>"$file"
(
	parent=$BASHPID
	while [ "$(cut -d' ' -f4 "/proc/$parent/stat")" = $$ ]; do
		sleep 0.01
	done
	"$LEASEHOLD" flock "$@" 9 2>"$file.err"
	echo $? >"$file.status"
) &
END
cat >"$dir/orphan-exec" <<'END'
exec 9>"$file"
(
	sleep 0.3
	exec "$LEASEHOLD" flock 9 2>"$file.err"
) &
END
run bash "$dir/orphan-exec"
ok "a script that has ended: its command ends" \
    until_true 5000 test -s "$file.err"
like "$(cat "$file.err")" "the process that called" "  says why"
ok "  nothing is held" free
is "$(lh session list --json)" "[]" "  no session is left"
ok "  the file is not locked" until_true 5000 kernel_free
: >"$file.err"
run bash "$dir/orphan"
ok "its child goes on: it calls, and holds" \
    until_true 5000 grep -q 0 "$file.status"
ok "  nothing is held after that" until_true 5000 free
# shellcheck disable=SC2016
run bash -c '"$LEASEHOLD" flock 9 9>"$file"; echo $? >&2'
like "$err" "does not have descriptor 9 open" \
    "a descriptor of the command alone"
like "$err" 64 "  64"
ok "  nothing is held" free

# Two descriptors of one process.
exec 8>"$file" 9>"$file" 7>&9
run lh flock 9
is "$status" 0 "locked by descriptor 9"
run lh flock -u 8
is "$status" 0 "  unlocked by 8, which holds nothing: no error"
ok "  the key is held" held
ok "  the file, too" kernel_held
run lh flock -n 8
is "$status" 75 "  8 does not get it: 75"
like "$err" "process $$ has its file locked by descriptor 9" "  says who has it"
run lh flock -n 7
is "$status" 0 "  a duplicate of 9 has it"
run lh flock -u 7
ok "  and unlocks it" free
ok "  the file, too" kernel_free
run lh flock -s 8
run lh flock -s 9
run lh flock -u 8
ok "shared by both, unlocked by one: the key is held" held
run lh flock -u 9
ok "  unlocked by the other: free" free
# shellcheck disable=SC2016
run bash -c '"$LEASEHOLD" flock 9 &&
    bash -c "\"\$LEASEHOLD\" flock -u 9; true"; "$LEASEHOLD" status "$0"' "$key"
is "$status" 0 "another process's unlock does not end the key"
exec 8>&- 9>&- 7>&-
ok "  its end does" until_true 5000 free

# The same mode again is not given away.
exec 9>"$file"
run lh flock 9
# shellcheck disable=SC2016
bg bash -c 'exec 8>"$file"; "$LEASEHOLD" flock 8; sleep 150'
until_true 5000 waits
run lh flock 9
is "$status $(holder)" "0 [true,$$]" "locked again: the waiter does not get it"
kill -KILL "$pid"
ended "$pid"
run lh flock -u 9
until_true 5000 free

# Killed in the wait for the key.
# shellcheck disable=SC2016
holder_begins() {
	rm -f "$dir/go"
	mkfifo "$dir/go"
	bg bash -c 'exec 8>"$file"; "$LEASEHOLD" flock 8; read -r _ <"$0/go"' \
	    "$dir"
	script=$pid
	until_true 5000 held
}
for sig in TERM KILL; do
	holder_begins
	"$LEASEHOLD" flock 9 &
	asker=$!
	mind "$asker"
	until_true 5000 waits
	kill -$sig "$asker"
	wait "$asker" 2>/dev/null
	isnt $? 0 "$sig in the wait for the key"
	echo >"$dir/go"
	ended "$script"
	ok "  the key is free afterwards" until_true 5000 free
	ok "  and the file" until_true 5000 kernel_free
done

# Killed in the wait for the file.
for sig in TERM KILL; do
	flock "$file" sleep 150 &
	old=$!
	mind "$old" "$(pgrep -P "$old")"
	until_true 5000 kernel_held
	"$LEASEHOLD" flock 9 &
	asker=$!
	mind "$asker"
	until_true 5000 is_blocked "$asker"
	ok "it waits for the file, with the key" held
	kill -$sig "$asker"
	wait "$asker" 2>/dev/null
	isnt $? 0 "$sig in the wait for the file"
	ok "  the key is free afterwards" until_true 5000 free
	is "$(lh session list --json)" "[]" "  no session is left"
	pkill -KILL -P "$old"
	wait "$old" 2>/dev/null
	ok "  and the file" until_true 5000 kernel_free
done
exec 9>&-

# Containers: process 1 of each, the same descriptor, the same file.
if ! unshare -pf --mount-proc true 2>/dev/null; then
	skip "no pid namespace can be made" "containers"
	finish
fi
cat >"$dir/first" <<'END'
exec 9>"$file"
"$LEASEHOLD" flock 9 || exit
echo $$ >"$0.pid"
while [ ! -e "$0.end" ]; do sleep 0.05; done
"$LEASEHOLD" flock -u 9
END
cat >"$dir/second" <<'END'
exec 9>"$file"
echo $$
"$LEASEHOLD" flock -qn 9
echo $?
"$LEASEHOLD" flock -u 9
echo $?
END
bg unshare -pf --kill-child --mount-proc bash "$dir/first"
first=$pid
until_true 5000 test -s "$dir/first.pid"
run unshare -pf --mount-proc bash "$dir/second"
is "${out//$'\n'/ }" "$(cat "$dir/first.pid") 75 0" \
    "the same number in another container: busy, and not unlocked"
ok "  the key is held" held
ok "  the file, too" kernel_held
touch "$dir/first.end"
ended "$first"
ok "  its own unlock ends it" free

# The caller is outside.
bg unshare -pf --kill-child --mount-proc sleep 150
outer=$pid
# shellcheck disable=SC2317
has_child() {
	inner=$(pgrep -P "$outer")
}
until_true 5000 has_child
exec 9>"$file"
run nsenter -t "$inner" -p -m "$LEASEHOLD" flock 9
is "$status" 64 "a caller outside the pid namespace: 64"
like "$err" "is outside this pid namespace" "  says so"
ok "  the key is free" free
ok "  and the file" kernel_free
finish
