# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Processes that stay in the middle of execve(2) (stalled.c), for tests that root
# runs, after lib.sh.
#
# The kernel answers nobody who asks for the mappings of such a process, nor, since
# Linux 6.18, for its /proc/PID/stat.  ps(1) and pgrep(1) hang as well: do not call
# them meanwhile, nor `gone` of that process.
compile stalled.c
chmod 711 "$dir"
mkdir -m 777 "$dir/mount"
mknod -m 666 "$dir/fuse" c 10 229

# stall UID [elsewhere]: $stalled is in execve(2), until unstall.  False: not on
# this kernel
stall() {
	: >"$dir/stall"
	"$dir/stalled" "$1" "$dir/mount" "$dir/fuse" "${@:2}" >"$dir/stall" &
	stall=$!
	until_true 10000 has_stalled
	stalled=$(sed -n 's/^stalled //p' "$dir/stall")
	[ -n "$stalled" ]
}

# shellcheck disable=SC2317
has_stalled() {
	[ -s "$dir/stall" ] || ! kill -0 "$stall"
}

unstall() {
	kill -KILL "$stall"
	ended "$stall"
}

# must_stall ARGUMENT...: the same, or the test is skipped
must_stall() {
	stall "$@" && return
	echo "1..0 # SKIP no file system of a user's own here"
	exit 0
}
