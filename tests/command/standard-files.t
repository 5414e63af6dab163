#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 A3: the command and the daemons start where their user may not open
# /dev/null, as long as descriptors 0 to 2 are open.  Where one is closed, they
# refuse, because a file that they open later would get its number.
#
# Otherwise a daemon in a container with a bare /dev would end with 71 and say
# nothing.
. "$(dirname "$0")/lib.sh"
table files
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	skip "needs root, and a mount namespace" "standard files"
	finish
fi

# without_null COMMAND...: runs it as nobody, who may not open /dev/null
cat >"$dir/without_null" <<'END'
: >"$1/null" && chmod 600 "$1/null" && mount --bind "$1/null" /dev/null &&
    shift && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
END
chmod 755 "$dir"
without_null() {
	unshare -m --propagation private sh "$dir/without_null" "$dir" "$@"
}

run without_null sh -c ': </dev/null'
like "$err" "denied" "nobody cannot open /dev/null here"
build=${LEASEHOLD%/*}
for program in leasehold leasehold-reaperd leasehold-shimd; do
	run without_null "$build/$program" --help
	is "$status" 0 "$program starts"
	like "$out" "usage: $program " "  and answers"
	run without_null sh -c '"$1" --help <&-' sh "$build/$program"
	is "$status" 71 "  without standard input it refuses"
	like "$err" "$program: cannot open /dev/null" "  and says why"
done
finish
