#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 B4, leasehold-preload: where there is no table, or it is full, damaged
# or removed, or the program has closed the library's descriptors, a program has
# the kernel's locks alone.  It is said on standard error if that is asked for.
#
# Otherwise a broken table would break each program that locks a file.
. "$(dirname "$0")/lib.sh"
. "$here/preload-lib.sh"

plain c
file f
tell c open 5 "$file"

# excludes NAME: it locks by the kernel
excludes() {
	does "$1" 0 flock 5 ex
	does c EAGAIN flock 5 ex nb
	does "$1" 0 flock 5 un
	does "$1" 0 set 5 w 0 0
	does c EAGAIN set 5 w 0 0
	does "$1" 0 set 5 u 0 0
}

table preload-none
locker a LEASEHOLD_TABLE=/no/name
tell a open 5 "$file"
excludes a
is "$(cat "$dir/a.err")" "" "a name that is none: nothing is said"
locker v LEASEHOLD_TABLE=/no/name LEASEHOLD_PRELOAD_VERBOSE=1
tell v open 5 "$file"
excludes v
is "$(wc -l <"$dir/v.err")" 1 "  but once, if it is asked for"
like "$(cat "$dir/v.err")" "without keys: " "  with the reason"

table preload-removed
locker r
tell r open 5 "$file"
excludes r
does r 0 flock 5 ex
is "$(holders "$key")" 1 "a key is held"
ok "the table is removed by force" lh rm --force
does c EAGAIN flock 5 ex nb
does r 0 flock 5 un
excludes r
has_key() {
	tell r flock 5 ex
	tell r flock 5 ex
	is_held "$key" || { tell r flock 5 un; false; }
}
ok "a new table is found after a while" until_true 20000 has_key
does r 0 flock 5 un

table preload-cut
locker t
tell t open 5 "$file"
does t 0 flock 5 ex
: >"$(object)"
does c EAGAIN flock 5 ex nb
does t 0 flock 5 un
excludes t

table preload-full
ok "a small table" lh init --leases 128
for i in 1 2; do
	bg "$LEASEHOLD" run "full-$i" sleep 1000
	begun "$pid"
done
locker u
tell u open 5 "$file"
does u 0 flock 5 ex
is "$(holders "$key" 2>/dev/null || echo 0)" 0 "there is no room for a key"
does u 0 flock 5 un
excludes u

table preload-closed
locker d
tell d open 5 "$file"
does d 0 flock 5 ex
does d 0 closefrom 6
does c EAGAIN flock 5 ex nb
does d 0 flock 5 un
excludes d

# a program that uses the library itself, and has a second thread
table preload-user
build=${LEASEHOLD%/*}
ok "a program of the library's" ${CC:-gcc} -std=c11 -D_GNU_SOURCE -pthread \
    -I"$here/../../include" -o "$dir/lock-user" "$here/lock-user.c" \
    "$build/libleasehold.so.0" -Wl,-rpath,"$build"
does c 0 flock 5 ex
: >"$dir/other"
for which in "a new table" "the table that is there"; do
	run env LD_PRELOAD="$PRELOADED" timeout -k 1 60 \
	    "$dir/lock-user" "$dir/other" "$file"
	is "$status$out" "0ready
Interrupted system call" "  neither hangs nor sleeps on: $which"
done
does c 0 flock 5 un
finish
