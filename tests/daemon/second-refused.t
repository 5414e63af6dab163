#!/bin/bash
# SPDX-License-Identifier: MIT
# A second daemon is refused, in words that name the first; one with other files
# is not, and does no harm; one that is asked to end ends, and leaves nothing.
. "$(dirname "$0")/lib.sh"
table second

reaperd
first=$daemon
is "$(cat "$pidfile")" "$first" "the pid file names the daemon"
title() {
	tr '\0' ' ' <"/proc/$first/cmdline"
}
until_true 5000 eval '[[ $(title) = *tables* ]]'	# after it is ready
like "$(title)" "leasehold-reaperd: 0 tables" \
    "its title says how many tables it has"
run "$REAPERD" -f -t "$LEASEHOLD_TABLE"
is "$status" 69 "a second one is refused: 69"
like "$err" "already running as process $first (pid file $pidfile)" "  says which runs"
run "$REAPERD" -t "$LEASEHOLD_TABLE"
is "$status" 69 "in the background too"
ok "the first one goes on" kill -0 "$first"

served
mkdir "$dir/other"
RUNTIME_DIRECTORY=$dir/other reaperd
ok "one with other files runs beside it" kill -0 "$first" "$daemon"
bg "$LEASEHOLD" run -F --ttl "$(t_ms 500)ms" k sleep 60
until_true 5000 state_is k held
ok "and both end a lease" until_true 5000 state_is k free
kill -TERM "$daemon"
ended "$daemon"
is "$status" 0 "TERM: ends with 0"
is "$(ls "$dir/other")" "" "  and leaves no file"
kill -INT "$first"
ended "$first"
is "$status" 0 "INT: ends with 0"
ok "  no file" test ! -e "$pidfile" -a ! -e "$socket"
run lh fsck
is "$status" 0 "the table is sound"

# Into the background.
run "$REAPERD" -t "$LEASEHOLD_TABLE"
is "$status" 0 "in the background"
ok "  it runs" until_true 5000 test -s "$pidfile"
daemon=$(cat "$pidfile")
mind "$daemon"
ok "  with that pid" kill -0 "$daemon"
ok "  not our child" test "$(ps -o ppid= -p "$daemon" | tr -d ' ')" != $$
is "$(readlink "/proc/$daemon/cwd")" / "  in /"
kill -TERM "$daemon"
ok "  and ends" until_true 5000 gone "$daemon"
ok "  without a trace" test ! -e "$pidfile" -a ! -e "$socket"

finish
