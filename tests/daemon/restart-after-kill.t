#!/bin/bash
# SPDX-License-Identifier: MIT
# After kill -9 a new daemon starts at once, over the files that the old one
# left, and goes on with the tables.
. "$(dirname "$0")/lib.sh"
table restart

reaperd
served
for i in 1 2 3; do
	kill -KILL "$daemon"
	ended "$daemon"
	ok "killed: its files are there ($i)" test -e "$pidfile" -a -e "$socket"
	bg "$LEASEHOLD" run -F --ttl 60s k sleep 60
	until_true 5000 state_is k held
	kill -KILL "$pid"
	ended "$pid"
	reaperd
	ok "  a new one starts and buries who died meanwhile" \
	    until_true 2000 state_is k free
	is "$(cat "$pidfile")" "$daemon" "  the pid file is its own"
	is "$(metric leasehold_reaper_serving)" 1 "  and the socket"
done

# A file in the socket's place that is no socket is left alone.
kill -TERM "$daemon"
ended "$daemon"
echo precious >"$socket"
reaperd
ok "something else in the socket's place: said so" \
    logged "no metrics: cannot listen at $socket: the path exists and is no socket"
kill -TERM "$daemon"
ended "$daemon"
is "$(cat "$socket")" precious "  and left there"

finish
