#!/bin/bash
# SPDX-License-Identifier: MIT
# A table that is retired, or replaced, under a shim of which nobody wants
# anything: it ends, and another one can serve the next table of that name.
# One that is truncated or overwritten with zeros sends it no signal (G12).
. "$(dirname "$0")/lib.sh"
table shimd-gone
SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
must_run "$SHIMD"
forget LEASEHOLD_SHIMD_
export STATE_DIRECTORY=$dir/state

make() {
	lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null
}

# shim NAME: one begins, which has no cluster
shim() {
	: >"$dir/log"
	bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" \
	    "$SHIMD" -f -e http://127.0.0.1:1
	ok "$1" until_true 5000 logged "is unreachable"
}

# gone: it has ended for that
gone() {
	ok "  it ends" until_true 5000 logged "the table was removed"
	ended "$pid"
	is "$status" 69 "  with 69"
	ok "  and leaves no socket" test ! -e \
	    "$RUNTIME_DIRECTORY/$LEASEHOLD_TABLE.sock"
}

make
shim "a shim"
run lh rm --force
is "$status" 0 "its table is retired"
gone
make
shim "another shim, for the next table"
rm "$(object)"
gone
make
shim "and one that is put in the place of an unlinked one"
rm "$(object)"
make
gone
shim "each has its shim"
run lh run -n cluster:k true
is "$status" 69 "which is asked: 69"
like "$err" "Connection refused" "  and answers"
kill -TERM "$pid"
ended "$pid"
is "$status" 0 "it ends when told to"

# destroyed COMMAND...: the table is, under a shim; it lives until it is removed
destroyed() {
	shim "$*: a shim"
	"$@"
	run lh run -n cluster:k true
	is "$status" 65 "  an acquire fails: damaged"
	sleep 0.3
	ok "  the shim lives" kill -0 "$pid"
	run lh rm --force
	is "$status" 0 "  it is removed by force"
	gone
	make
}
# shellcheck disable=SC2317
zeros() {
	dd if=/dev/zero of="$(object)" bs=4096 conv=notrunc status=none \
	    count=$(($(stat -c %s "$(object)") / 4096))
}
destroyed truncate -s 0 "$(object)"
destroyed truncate -s 8192 "$(object)"
destroyed zeros
finish
