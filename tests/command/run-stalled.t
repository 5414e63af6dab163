#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that stays in the middle of execve(2) does not keep `run` from beginning,
# nor from ending its command when the lease is lost: not a stranger's, and not one
# of the command's own.
#
# Otherwise any local user could let a command run on beside the next holder.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root, who makes a device"
	exit 0
fi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/stalled.sh"

table run
must_stall 65533
timeout -s KILL 0.2 cat "/proc/$stalled/maps" >/dev/null
is $? 137 "a stranger's process is in execve(2), and its maps cannot be read"
run timeout -s KILL 10 "$LEASEHOLD" run k true
is "$status" 0 "a command runs, and ends: $err"
# (a child of ours that is no part of the command: run looks at all processes)
run timeout -s KILL 10 sh -c 'sleep 30 & exec "$LEASEHOLD" run k true'
is "$status" 0 "  also beside another child of its process: $err"

# lost COMMAND...: its lease is broken; $status, and $took since then
lost() {
	rm -f "$dir/begun"
	timeout -s KILL 20 "$LEASEHOLD" run k "$@" &
	run=$!
	until_true 10000 test -e "$dir/begun"
	began=$(now_ms)
	lh break k >/dev/null
	ended $run
	took=$(($(now_ms) - began))
}

# shellcheck disable=SC2016
lost sh -c 'sleep 50 & echo $! >"$1/child"; : >"$1/begun"; wait' sh "$dir"
isnt "$status" 137 "a lease is lost: its run ends"
ok "  and its command was killed, with what that began" gone \
    "$(cat "$dir/child")"
unstall

# a stranger's process to which a session is bound
: >"$dir/stall"
"$dir/stalled" 65533 "$dir/mount" "$dir/fuse" wait >"$dir/stall" &
stall=$!
until_true 10000 grep -q begun "$dir/stall"
stalled=$(sed -n 's/^begun //p' "$dir/stall")
run lh acquire --for-pid "$stalled" bound
is "$status" 0 "a session is bound to a stranger's process: $err"
kill -CONT "$stalled"
until_true 10000 grep -q stalled "$dir/stall"
for verb in "run -w 300ms bound true" "run -n other true" "list" "session list" \
    "explain bound" "status bound"; do
	# shellcheck disable=SC2086
	run timeout -s KILL 10 "$LEASEHOLD" $verb
	isnt "$status" 137 "  which is in execve(2): $verb ends"
done
run lh run -n bound true
is "$status" 75 "  the key is held"
unstall
until_true 10000 lh run -n bound true
run lh run -n bound true
is "$status" 0 "  until that process ends"

# a job that has become the command, and executes another program (run -F)
: >"$dir/stall"
"$dir/stalled" 0 "$dir/mount" "$dir/fuse" "$LEASEHOLD" run -F --ttl 60s \
    become >"$dir/stall" &
stall=$!
until_true 10000 grep -q stalled "$dir/stall"
stalled=$(sed -n 's/^stalled //p' "$dir/stall")
for verb in "run -w 300ms become true" "list" "status become" "explain become"
do
	# shellcheck disable=SC2086
	run timeout -s KILL 10 "$LEASEHOLD" $verb
	isnt "$status" 137 "a command of run -F in execve(2): $verb ends"
done
run lh run -n become true
is "$status" 75 "  the key is held"
unstall

# shellcheck disable=SC2016
: >"$dir/stall"
lost sh -c '"$1/stalled" 0 "$1/mount" "$1/fuse" >"$1/stall" &
    sleep 50 & echo $! >"$1/child"
    until [ -s "$1/stall" ]; do sleep 0.1; done
    : >"$1/begun"; sleep 50' sh "$dir"
isnt "$status" 137 "one of the command's processes is in execve(2): its run ends"
ok "  and the others were killed" gone "$(cat "$dir/child")"
finish
