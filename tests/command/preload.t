#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 B4, leasehold-preload: a program that locks files with flock(2),
# fcntl(2) or lockf(3) holds keys as well, which the command shows; the key goes
# with the lock, and excludes `leasehold flock` and `leasehold run`.
#
# Otherwise nobody could see who holds the locks of programs that know nothing
# of leasehold.
. "$(dirname "$0")/lib.sh"
. "$here/preload-lib.sh"
table preload

locker a
locker b
file f
for p in a b; do
	tell $p open 5 "$file"
	is "$answer" 0 "$p has a file open"
done

# flock
does a 0 flock 5 ex
is "$(holders "$key")" 1 "the key of the file is held"
run lh status --json "$key"
is "$(jq -r '.holders[0].pid' <<<"$out")" "${locker_pid[a]}" "  by that process"
like "$out" "kernel lock: flock $file" "  which says for what file"
like "$(jq -r '.holders[0].policy' <<<"$out")" strict "  without a deadline"
does b EAGAIN flock 5 ex nb
does b EAGAIN flock 5 sh nb
does a 0 flock 5 ex
is "$(holders "$key")" 1 "locking again is one key"
does a 0 flock 5 un
is "$(holders "$key")" 0 "it is released with the lock"
does a 0 flock 5 sh
does b 0 flock 5 sh
is "$(holders "$key")" 2 "readers share it"
does a EAGAIN flock 5 ex nb
does b 0 flock 5 ex nb
is "$(lh status --json "$key" | jq -r '.holders[0].mode')" exclusive \
    "a failed upgrade of a flock loses it, as without the library"
does b 0 flock 5 sh
is "$(lh status --json "$key" | jq -r '.holders[0].mode')" shared "a downgrade"
does a 0 flock 5 sh nb
does a 0 flock 5 un
does b 0 flock 5 un

# a wait
does a 0 flock 5 ex
send b flock 5 ex
ok "a wait is the kernel's" until_true 10000 \
    waits_in_kernel "${locker_pid[b]}"
like "$(lh explain "$key")" "${locker_pid[a]}" "  and who holds the key shown"
does a 0 flock 5 un
hear b
is "$answer" 0 "  and granted"
is "$(holder_pid "$key")" "${locker_pid[b]}" "  with the key"
like "$(lh log "$key")" "${locker_pid[a]}" "the log has who held it"
does b 0 flock 5 un

# the command
run lh run -n "$key" true
is "$status" 0 "the key is free for the command"
bg "$LEASEHOLD" run "$key" sleep 1000
runs=$pid
begun "$runs"
does a EAGAIN flock 5 ex nb
send a flock 5 ex
ok "a program waits for a key without a lock" \
    until_true 10000 has_waiters "$key" 1
hear a 300
is "$answer" none "  as long as that is held"
kill -TERM "$runs"
ended "$runs"
hear a
is "$answer" 0 "  and not longer"
run lh run -n "$key" true
is "$status" 75 "the command is kept out by the program"
exec 9<>"$file"
run lh flock -n 9
is "$status" 75 "  and so is leasehold flock"
does a 0 flock 5 un
ok "leasehold flock gets it then" lh flock -n 9
like "$(lh status --json "$key" | jq -r '.holders[0].info')" "kernel lock: " \
    "  and says that the file is locked as well"
does a EAGAIN flock 5 ex nb
ok "  and releases it" lh flock -u 9
ok "a key that is left when the descriptor is closed" lh flock -n 9
exec 9<&- 9<>"$file"
is "$(holders "$key")" 1 "  is held"
does a 0 flock 5 ex nb
does a 0 flock 5 ex
does a 0 flock 5 un
ok "  and keeps no program waiting" lh flock -u 9
does a 0 flock 5 ex nb
does a 0 flock 5 un
ok "leasehold flock works under the library" \
    env LD_PRELOAD="$PRELOADED" "$LEASEHOLD" flock -w 10s 9
ok "  and so does its end" \
    env LD_PRELOAD="$PRELOADED" "$LEASEHOLD" flock -u 9
run env LD_PRELOAD="$PRELOADED" "$LEASEHOLD" run --flock "$file" -w 10s job true
is "$status" 0 "  and run --flock"
exec 9<&-

# fcntl and lockf
does a 0 set 5 w 10 5
is "$(holders "$key:10-14")" 1 "a range has a key of its own"
is "$(holders "$key")" 0 "  which is not the file's"
does b EAGAIN set 5 w 10 5
does b EAGAIN set 5 r 12 1
does b 0 set 5 w 15 5
is "$(holders "$key:15-19")" 1 "two ranges, two keys"
does b "${locker_pid[a]}" get 5 w 10 5
does a free get 5 w 10 5
does a 0 set 5 r 10 5
does b 0 set 5 r 10 5
is "$(holders "$key:10-14")" 2 "a writer becomes a reader, and others join"
does a EAGAIN set 5 w 10 5
is "$(holders "$key:10-14")" 2 "  and stays one if it cannot become a writer"
does b 0 set 5 u 0 0
is "$(holders "$key:15-19")" 0 "unlocking all releases each range"
does a 0 wait 5 w 10 5
is "$(lh status --json "$key:10-14" | jq -r '.holders[0].mode')" exclusive \
    "a reader becomes a writer"
send b wait 5 w 10 5
ok "a wait for a range is the kernel's" until_true 10000 \
    waits_in_kernel "${locker_pid[b]}"
does a 0 set 5 u 10 5
hear b
is "$answer" 0 "  and granted"
does b 0 set 5 u 10 5
does a 0 lockf 5 lock 0
is "$(holders "$key:0-EOF")" 1 "lockf has a key"
does b EAGAIN lockf 5 tlock 0
does a 0 flock 5 ex
is "$(holders "$key")" 1 "fcntl and flock do not meet, as in the kernel"
does a 0 flock 5 un
does a 0 lockf 5 ulock 0
is "$(holders "$key:0-EOF")" 0 "  and releases it"
does a 0 ofd 5 w 0 0
does a 0 open 6 "$file"
does a EAGAIN ofd 6 w 0 0
does a EAGAIN set 6 w 0 0
does a 0 ofd 5 u 0 0
is "$(holders "$key:0-EOF")" 0 "locks of an open file have keys, too"
does a 0 close 6

# errors are the kernel's
does a EBADF flock 77 ex
does a EBADF set 77 w 0 0
does a EINVAL set 5 w -1 1
finish
