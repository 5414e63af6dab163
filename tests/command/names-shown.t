#!/bin/bash
# SPDX-License-Identifier: MIT
# A name of any bytes is shown in one way: `list`, the messages of the command
# and the sentences of the library have the same characters for it.
#
# Otherwise a name that a message shows would be another key's when it is looked
# for in the list.
. "$(dirname "$0")/lib.sh"
table names-shown
unset LEASEHOLD_SESSION
key=$'a\nb\\x41\tc'
shown='a\x0ab\\x41\x09c'

lh acquire --for-pid $$ "${key//\\/\\\\}" >/dev/null
is "$(lh list | awk 'NR == 2 {print $1}')" "$shown" "list"
says() {	# says NAME COMMAND...
	local what=$1

	shift
	run lh "$@"
	like "$err" "$shown" "$what"
	is "$(grep -c 'a b' <<<"$err")" 0 "  and nothing else"
}
says "busy" run -n "${key//\\/\\\\}" true
says "timed out" run -w 50ms "${key//\\/\\\\}" true
says "verify" verify "$key" 5
says "destroy" destroy "$key"
says "value" value set -n "$key" v
says "no such semaphore" sem status "$key"
says "no such session" session renew "$key"
lh acquire --for-pid $$ --info "$key" told >/dev/null
like "$(lh status told)" "$shown" "the holder's info"
lh session open --pid $$ "$key" >/dev/null
lh acquire --session "$key" in-session >/dev/null
says "busy by a session" run -n in-session true
# What cannot be seen, or turns the line around, is no letter.
export LC_ALL=C.UTF-8
for odd in '\u202e' '\u200b' '\u2066' '\u00ad' '\u00a0' '\u2003' '\u0301'; do
	printf -v hidden "a${odd}b"
	lh acquire --for-pid $$ "$hidden" >/dev/null
	run lh explain "$hidden"
	is "$(grep -cF "$hidden" <<<"$out")" 0 "$odd is not printed"
	like "$out" "'a\\x" "  but its bytes"
	run bash -c "$(sed -n 's/.*end its lease: *//p' <<<"$out" |
	    sed "s|^leasehold|'$LEASEHOLD'|")"
	is "$status" 0 "  in a command as well"
	is "$(lh status "$hidden" >/dev/null; echo $?)" 1 "  for that key"
done
lh acquire --for-pid $$ $'\u00e4\u4e2d' >/dev/null
like "$(lh list)" $'\n\u00e4\u4e2d ' "letters are printed"
run lh fsck
is "$status" 0 "the table is sound"
finish
