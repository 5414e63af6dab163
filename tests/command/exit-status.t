#!/bin/bash
# SPDX-License-Identifier: MIT
# Each exit status that can be reached: the command's own and leasehold's.
#
# Otherwise a script could not tell a busy key from a failed command.
. "$(dirname "$0")/lib.sh"
table exit

for n in 0 1 7 75 255; do
	run lh run k -- sh -c "exit $n"
	is "$status" $n "the command's own $n"
done
for s in TERM KILL SEGV USR1 RTMIN; do
	run lh run k -- bash -c "kill -$s \$\$"
	is "$status" $((128 + $(kill -l $s))) "killed by SIG$s: 128 and it"
done

run lh run k /nonexistent/command
is "$status" 127 "a command that is not there: 127"
like "$err" "cannot run '/nonexistent/command': No such file" "  in words"
run lh run k no-such-command-anywhere
is "$status" 127 "not in PATH either: 127"
run lh run k /
is "$status" 126 "a directory: 126"
echo 'not a program' >"$dir/data"
run lh run k "$dir/data"
is "$status" 126 "a file without x permission: 126"
like "$err" "Permission denied" "  in words"
ok "the key is free again after all that" is_free k

run lh run k -- echo a 'b  c' -n --ttl
is "$out" "a b  c -n --ttl" "arguments arrive as they are"
run lh run k echo -- x
is "$out" "-- x" "only the first -- is ours"
run lh run -c 'echo $((40 + 2)); exit 3' k
is "$out/$status" 42/3 "-c before the key"
run lh run k -c 'echo "$0"; exit 4'
is "$status" 4 "-c after the key, as flock has it"
SHELL=/bin/echo run lh run k -c 'some words'
is "$out" "-c some words" "-c uses \$SHELL"
run env -u SHELL "$LEASEHOLD" run k -c 'exit 6'
is "$status" 6 "-c without \$SHELL"
run lh run k cat
is "$status" 0 "standard input is passed on (empty)"
is "$(echo some input | lh run k cat)" "some input" "standard input"

# Standard files that our caller closed must not become tables or pipes.
run bash -c '"$LEASEHOLD" run -v k true <&- >&- 2>&-'
is "$status" 0 "runs with 0, 1 and 2 closed"
run bash -c 'trap "" CHLD; exec "$LEASEHOLD" run k sh -c "exit 5"'
is "$status" 5 "runs where SIGCHLD is ignored"

# Busy: 75, or what -E says, and the command is not run.
bg "$LEASEHOLD" run held sleep 150
holder=$pid
until_true 5000 is_held held
run lh run -n held touch "$dir/ran"
is "$status" 75 "busy: 75"
run lh run -n -E 9 held touch "$dir/ran"
is "$status" 9 "busy: -E 9"
run lh run -w 0 held touch "$dir/ran"
is "$status" 75 "-w 0 tries"
run lh run -w 100ms -E 0 held touch "$dir/ran"
is "$status" 0 "timed out: -E 0"
is "$(cat "$dir/err" | wc -l)" 1 "  said in one line"
ok "the command was not run" test ! -e "$dir/ran"
run lh status held
is "$status" 0 "status of a held key: 0"
run lh status k
is "$status" 1 "status of a free key: 1"
run lh status unknown
is "$status" 1 "status of an unknown key: 1"
kill -KILL "$holder"

# 65: damaged, or not a table at all.
good=$LEASEHOLD_TABLE
table damaged
head -c 8192 /dev/urandom >"$(object)"
for verb in "run k true" "list" "status k"; do
	# shellcheck disable=SC2086
	run lh $verb
	is "$status" 65 "$verb on something that is no table: 65"
	isnt "$err" "" "  and a sentence"
done
table fifo
mkfifo "$(object)"
run lh run k true
is "$status" 65 "a fifo instead of a table: 65"

if [ "$(id -u)" = 0 ] && unshare -T --fork true 2>/dev/null; then
	table time
	run lh run k true
	run unshare -T --monotonic 1000 --fork "$LEASEHOLD" run k true
	is "$status" 65 "a table of another time namespace: 65"
	isnt "$err" "" "  and a sentence"
else
	skip "not root" "a table of another time namespace: 65"
	skip "not root" "  and a sentence"
fi

# 69: the table is removed while we wait.
table removed
bg "$LEASEHOLD" run k sleep 150
holder=$pid
until_true 5000 is_held k
bg "$LEASEHOLD" run k touch "$dir/ran" 2>"$dir/err"
waiter=$pid
until_true 5000 has_waiters k 1
rm "$(object)"
until_true 10000 gone "$waiter"
kill -KILL "$waiter"
ended "$waiter"
kill -KILL "$holder"
is "$status" 69 "the table is removed while we wait: 69"
like "$(cat "$dir/err")" "was removed" "  in words"
ok "  the command was not run" test ! -e "$dir/ran"

# 73: it cannot be created.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	run unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm &&
	    exec "$LEASEHOLD" run --table tiny k true'
	is "$status" 73 "no room for the table: 73"
	like "$err" "cannot open the table" "  in words"
	run unshare -m sh -c 'mount -t tmpfs -o ro none /dev/shm &&
	    exec "$LEASEHOLD" run --table tiny k true'
	is "$status" 73 "nowhere to make the table: 73"
else
	skip "not root" "no room for the table: 73"
	skip "not root" "  in words"
	skip "not root" "nowhere to make the table: 73"
fi

# 77: somebody else's.
if [ "$(id -u)" = 0 ]; then
	table theirs
	run lh run --system k true
	is "$status" 0 "a system table"
	chmod 755 "$dir"
	cp "$LEASEHOLD" "$dir/leasehold"
	for verb in "run" "list" "status"; do
		run setpriv --reuid 65534 --regid 65534 --clear-groups \
		    "$dir/leasehold" $verb --system k true
		[ $verb = run ] || run setpriv --reuid 65534 --regid 65534 \
		    --clear-groups "$dir/leasehold" $verb --system k
		is "$status" 77 "$verb: a table that we may not open: 77"
	done
else
	for verb in "a" "run" "list" "status"; do
		skip "not root" "permission: $verb"
	done
fi

# 71: the system has no more of something.
LEASEHOLD_TABLE=$good
run bash -c 'ulimit -n 4; exec "$LEASEHOLD" run k true'
is "$status" 71 "no descriptors left: 71"
isnt "$err" "" "  and a sentence"

finish
