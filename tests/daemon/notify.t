#!/bin/bash
# SPDX-License-Identifier: MIT
# Messages to the service manager: ready, status, reloading, alive, ending.
. "$(dirname "$0")/lib.sh"
table notify

told() {
	grep -q " $1" "$dir/told"
}

# manager ADDRESS
manager() {
	rm -f "$dir/told" "$dir/notify"
	bg python3 "$here/manager.py" "$1" "$dir/told"
	listener=$pid
	until_true 30000 told listening
	export NOTIFY_SOCKET=$1
}

for at in "$dir/notify" "@leasehold-test-$$"; do
	manager "$at"
	WATCHDOG_USEC=400000 reaperd
	ok "${at:0:1}: ready" until_true 5000 told READY=1
	ok "  its status" until_true 5000 told "STATUS=Serving 0 tables"
	lh init --keys 100 --sessions 16 --leases 1024 >/dev/null
	ok "  which follows" until_true 5000 told "STATUS=Serving 1 table$"
	lh rm
	kill -HUP "$daemon"
	ok "  reloading" until_true 5000 told RELOADING=1
	ok "  since when" until_true 5000 told MONOTONIC_USEC=
	ok "  ready again" until_true 5000 \
	    eval '[ "$(grep -c READY=1 "$dir/told")" = 2 ]'
	ok "  alive, again and again" until_true 5000 \
	    eval '[ "$(grep -c WATCHDOG=1 "$dir/told")" -ge 4 ]'
	ok "  no more often than at half the watchdog's time" awk '
	    /WATCHDOG=1/ { n++; last = $1 }
	    END { exit n > last / 200 + 2 }' "$dir/told"
	kill -TERM "$daemon"
	ended "$daemon"
	ok "  ending" until_true 5000 told STOPPING=1
	kill -KILL "$listener"
done

# mark N: the manager has heard all that was sent before this
mark() {
	perl -MSocket -e 'socket(S, AF_UNIX, SOCK_DGRAM, 0) &&
	    send(S, $ARGV[1], 0, pack_sockaddr_un($ARGV[0])) or exit 1' \
	    "$NOTIFY_SOCKET" "MARK=$1"
	until_true 10000 told "MARK=$1"
}

# Stopped: the watchdog hears nothing.
manager "$dir/notify"
WATCHDOG_USEC=200000 reaperd
until_true 5000 told WATCHDOG=1
kill -STOP "$daemon"
until_true 5000 is_stopped "$daemon"
ok "a stopped daemon" mark 1
n=$(wc -l <"$dir/told")
sleep 0.6
mark 2
is "$(wc -l <"$dir/told")" $((n + 1)) "  does not seem alive"
kill -KILL "$daemon"
ended "$daemon"

# A watchdog for another process is none for us.
WATCHDOG_USEC=200000 WATCHDOG_PID=1 reaperd
sleep 0.6
mark 3
is "$(tail -n +$((n + 1)) "$dir/told" | grep -c WATCHDOG=1)" 0 \
    "a watchdog of somebody else's is not fed"
kill -TERM "$daemon"
ended "$daemon"
kill -KILL "$listener"

# Nobody there, or nonsense: no harm.
for at in "$dir/gone" "vsock:1:2" "relative" "" "@" \
    "/$(printf 'x%.0s' {1..200})"; do
	export NOTIFY_SOCKET=$at
	WATCHDOG_USEC=nonsense reaperd
	kill -TERM "$daemon"
	ended "$daemon"
	is "$status" 0 "NOTIFY_SOCKET='${at:0:20}': runs and ends"
done

finish
