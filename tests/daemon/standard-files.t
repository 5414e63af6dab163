#!/bin/bash
# SPDX-License-Identifier: MIT
# A daemon that is started with standard descriptors closed opens /dev/null on
# them (finding A3).  Otherwise its next file has such a number, and the first
# message is written into a table or a socket.
. "$(dirname "$0")/lib.sh"
table standard-files
SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
must_run "$SHIMD"
lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null

# standard_files PID: what 0, 1 and 2 are
standard_files() {
	local fd

	for fd in 0 1 2; do
		readlink "/proc/$1/fd/$fd" || echo none
	done | sort -u
}

opened() {	# PID: it has opened the table
	ls -l "/proc/$1/fd" | grep -q "$(object)"
}

bg bash -c 'exec "$@" <&- >&- 2>&- 3>&-' - "$REAPERD" -f \
    -t "$LEASEHOLD_TABLE"
daemon=$pid
ok "the reaper opens its table" until_true 10000 opened "$daemon"
is "$(standard_files "$daemon")" /dev/null "  0, 1 and 2 are /dev/null"

export STATE_DIRECTORY=$dir/state
mkdir -p "$STATE_DIRECTORY"
bg bash -c 'exec "$@" <&- >&- 2>&- 3>&-' - "$SHIMD" -f \
    -t "$LEASEHOLD_TABLE" -e http://127.0.0.1:1
shim=$pid
ok "the shim opens its table" until_true 10000 opened "$shim"
is "$(standard_files "$shim")" /dev/null "  0, 1 and 2 are /dev/null"

run lh fsck
is "$status" 0 "the table is sound"
finish
