#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Guarantee G2: a member of a table writes a ceiling that is close to the largest
# number that a floor may have.  The table is removed, and the name can be used
# again.  If no later table could go on above its tokens, the removal says so
# before it changes anything, and --forget-tokens removes it.
#
# Otherwise one word of a member would leave a floor that every later use of the
# name refuses.
. "$(dirname "$0")/lib.sh"
table limit

write_ceiling() {
	python3 - "$(object)" "$1" <<'END'
import os, struct, sys
f = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(f, struct.pack('Q', eval(sys.argv[2])), 192)
END
}

object() {
	echo "/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.table"
}

for n in '(1<<62)-5' '(1<<62)-(1<<32)-1' 0; do
	run lh run k -- true
	is "$status" 0 "a table is used"
	write_ceiling "$n"
	run lh rm
	is "$status" 0 "its ceiling was $n, and it is removed"
	run lh run k -- true
	is "$status" 0 "the name can be used again"
	run lh rm
	is "$status" 0 "and is removed"
done
run lh run k -- true
write_ceiling '(1<<62)-(1<<40)-(1<<32)'
run lh rm
is "$status" 0 "the largest that still leaves room"
run lh run k -- true
is "$status" 0 "a table at the end of all tokens is used"
run lh rm
is "$status" 0 "and is removed once"
run lh run k -- true
run lh rm
is "$status" 65 "one whose successor could not go on is not removed"
like "$err" "remove it with --forget-tokens" "and what to do is said"
run lh run k -- true
is "$status" 0 "nothing was changed"
run lh rm --force
is "$status" 65 "nor is it by force"
run lh rm --force --forget-tokens
is "$status" 0 "with --forget-tokens it is"
run lh run k -- true
is "$status" 0 "and the name can be used"
run lh rm --forget-tokens
finish
