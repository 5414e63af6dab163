#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 B1: util-linux's own tests of flock(1) pass with `leasehold run -q` behind
# a wrapper of three lines (tests/peers/flock), all of them.
#
# Otherwise jobs that call flock(1) could not be moved over by its options' names.
watch_s=600
. "$(dirname "$0")/../command/lib.sh"
top=$(cd "$here/../.." && pwd)
source=$top/build/peers/util-linux
if ! "$here/fetch" util-linux 2>"$dir/fetch"; then
	diag "$(cat "$dir/fetch")"
	echo "Bail out! no source of util-linux"
	exit 1
fi
table peers
mkdir "$dir/build"
TS_CMD_FLOCK=$here/flock run bash "$source/tests/ts/misc/flock" \
    --noskip-commands --srcdir="$source" --builddir="$dir/build"
is "$status" 0 "util-linux's tests of flock pass"
for t in non-block no-fork shared exclusive timeout time-check; do
	like "$out" ": $t " "  $t was run"
done
like "$out" "all 6 sub-tests PASSED" "  all six: $out"
finish
