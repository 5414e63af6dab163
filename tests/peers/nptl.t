#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D3: glibc's own tests of mutexes, robust mutexes and read/write locks pass
# over leasehold/pthread.h, after a search and replace (tests/peers/nptl/over.h).
#
# Otherwise programs that use those could not be moved over by their names.
#
# These do not apply:
#	tst-mutex5, tst-mutex5a, tst-mutex6, tst-rwlock5, tst-rwlock6: wait for a lock of
#		their own (EDEADLK here)
#	tst-robust7, tst-rwlock16: condition variables
#	tst-robust8, tst-rwlock19, tst-rwlock20, tst-mutex8: read glibc's own fields
#	tst-robust-fork, tst-mutexpi*, tst-mutexpp*, tst-robustpi*: priorities
#	tst-rwlock4: a child of fork() unlocks what its parent has locked
#	tst-rwlock7: destroys a lock that is locked (EBUSY here)
#	tst-rwlock-pwn: elision
watch_s=900
. "$(dirname "$0")/../command/lib.sh"
top=$(cd "$here/../.." && pwd)
source=$top/build/peers/glibc
if ! "$here/fetch" glibc 2>"$dir/fetch"; then
	diag "$(cat "$dir/fetch")"
	echo "Bail out! no source of glibc"
	exit 1
fi
# (not beside glibc's own test support, which they would find first)
mkdir -p "$dir/glibc/nptl" "$dir/glibc/pthread"
cp "$source"/nptl/tst-* "$dir/glibc/nptl"
cp "$source"/sysdeps/pthread/tst-* "$dir/glibc/pthread"
table nptl
for t in mutex-errorcheck mutex1 mutex2 mutex3 mutex4 mutex7 mutex7a \
    mutex7robust mutex9 mutex10 mutex11 robust1 robust2 robust3 robust4 robust5 robust6 \
    robust9 robust10 rwlock1 rwlock2 rwlock2a rwlock2b rwlock3 rwlock8 rwlock9 rwlock10 \
    rwlock11 rwlock12 rwlock13 rwlock14 rwlock14-time64 rwlock15 rwlock17 rwlock18 \
    rwlock-tryrdlock-stall rwlock-trywrlock-stall; do
	for c in "$dir/glibc/pthread/tst-$t.c" "$dir/glibc/nptl/tst-$t.c"; do
		[ ! -e "$c" ] || break
	done
	run gcc -std=gnu11 -D_GNU_SOURCE -w -O1 -include "$here/nptl/over.h" \
	    -I"$here/nptl" -I"$here/nptl/support" -I"$dir/glibc/pthread" \
	    -I"$dir/glibc/nptl" -I"$top/include" -o "$dir/$t" "$c" \
	    "$top/build/release/libleasehold.a" -lbsd -pthread
	is "$status" 0 "tst-$t is compiled: $err"
	run timeout -k 2 100 "$dir/$t"
	is "$status" 0 "  and passes${err:+: $err}"
done
finish
