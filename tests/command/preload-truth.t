#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 B4, leasehold-preload: the kernel's lock is the truth.  A key that was
# left where the lock has ended unseen keeps nobody waiting.  Owners are the
# kernel's: the process, or the open file.  Signals end waits as they do in the
# kernel, and so do circles of waits, also with programs without the library.
#
# Otherwise a program that works without the library could fail or hang with it.
. "$(dirname "$0")/lib.sh"
. "$here/preload-lib.sh"
table preload-truth

plain c
for p in a b; do
	locker $p
done
file f
for p in a b c; do
	tell $p open 5 "$file"
	tell $p open 6 "$file"
done

# a child unlocks its parent's lock: nobody sees that
does a 0 flock 5 ex
does a 0 fork flock 5 ex nb
does a 0 fork flock 5 un
hear a 0
is "$(holders "$key")" 1 "a key is left"
does b 0 flock 5 ex nb
does b 0 flock 5 un
does b 0 flock 5 ex
does a EAGAIN flock 5 ex nb
does b 0 flock 5 un

# descriptors that are closed
does a 0 flock 5 ex
does a 0 close 5
is "$(holders "$key")" 0 "close() releases the key of a flock"
does a 0 open 5 "$file"
does a 0 flock 5 ex
does a 0 fclose 5
is "$(holders "$key")" 0 "  and so does fclose()"
does a 0 open 5 "$file"
does a 0 flock 5 ex
does a 0 dup 6 5
is "$(holders "$key")" 0 "  and dup2() over it"
does a 0 open 5 "$file"
does a 0 set 5 w 0 0
does a 0 close 6
is "$(holders "$key:0-EOF")" 0 "closing any descriptor ends POSIX locks"
does b 0 set 5 w 0 0
does b 0 set 5 u 0 0
does a 0 flock 5 ex
does a 0 vfork 5
is "$(holders "$key")" 1 "a child's close() in its parent's memory does not"
does a 0 dup 5 7
does a 0 flock 7 ex nb
does a 0 flock 7 un
is "$(holders "$key")" 0 "a duplicate unlocks"
does a 0 close 7

# owners
does a 0 set 5 w 0 9
does a 0 thread set 5 w 0 9
is "$(holders "$key:0-8")" 1 "a process has a range once"
send a fork set 5 w 0 9
hear a
is "$answer" EAGAIN "a child does not have its parent's range"
does a 0 set 5 u 3 1
is "$(holders "$key:0-8")" 0 "no key is kept for a part of its range"
does b EAGAIN set 5 w 0 1
does b 0 set 5 w 3 1
does a 0 set 5 u 0 0
does b 0 set 5 u 0 0

# the kernel alone: a program without the library
does c 0 flock 5 ex
does a EAGAIN flock 5 ex nb
is "$(holders "$key")" 0 "a refusal of the kernel's leaves no key"
send a flock 5 ex
hear a 200
is "$answer" none "the kernel's lock is waited for"
does c 0 flock 5 un
hear a
is "$answer" 0 "  and granted"
does c EAGAIN flock 5 ex nb
does a 0 flock 5 un

# signals, in a wait for the key
does b 0 flock 5 ex
does b 0 set 5 w 0 0
for lock in "flock 5 ex" "wait 5 w 0 0"; do
	does a EINTR alarms intr "$lock"
	send a alarms restart "$lock"
	hear a 1000
	is "$answer" none "  SA_RESTART goes on waiting: $lock"
	ok "  in the kernel" until_true 10000 waits_in_kernel "${locker_pid[a]}"
	if [ "$lock" = "flock 5 ex" ]; then
		tell b flock 5 un
	else
		tell b set 5 u 0 0
	fi
	hear a
	is "$answer" 0 "  and is granted it"
	tell a handled
	is "$answer" 1 "  handlers ran meanwhile"
	does a 0 flock 5 un
	does a 0 set 5 u 0 0
done
does b 0 flock 5 ex
send a flock 5 ex
ok "a wait" until_true 10000 waits_in_kernel "${locker_pid[a]}"
kill -TERM "${locker_pid[a]}"
ended "${locker_pid[a]}"
is "$status" 143 "  is ended by a signal without a handler"
ok "  and leaves the queue" until_true 10000 has_waiters "$key" 0
does b 0 flock 5 un

# circles
locker a
tell a open 5 "$file"
does a 0 set 5 w 1 1
does b 0 set 5 w 2 1
send a wait 5 w 2 1
ok "a waits for b" until_true 10000 waits_in_kernel "${locker_pid[a]}"
does b EDEADLK wait 5 w 1 1
does b 0 set 5 u 0 0
hear a
is "$answer" 0 "  and goes on"
does a 0 set 5 u 0 0
does a 0 set 5 w 1 1
does b 0 set 5 w 2 1
does c 0 set 5 w 3 1
send a wait 5 w 2 1
ok "a waits for b" until_true 10000 waits_in_kernel "${locker_pid[a]}"
send b wait 5 w 3 1
send c wait 5 w 1 1
deadlocked=
for p in a b c; do
	hear $p 10000
	[ "$answer" != EDEADLK ] || deadlocked=$deadlocked$p
	[ "$answer" = none ] || tell $p set 5 u 0 0
done
for p in a b c; do
	[ "${deadlocked:-}" = $p ] || hear $p 10000
done
is "${#deadlocked}" 1 "a circle through the kernel ends one wait: $deadlocked"
finish
