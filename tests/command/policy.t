#!/bin/bash
# SPDX-License-Identifier: MIT
# `run --policy`: the output shows the policy, and a deadline does not end a
# strict or a running holder's lease.
#
# Otherwise a job that must not be overtaken would lose its key.
. "$(dirname "$0")/lib.sh"
table policy

run lh run k true
is "$status" 0 "the key is made"

bg "$LEASEHOLD" run --policy strict --ttl 200ms k sleep 150
until_true 5000 has_holders k 1 || diag "no holder"
run lh status k
like "$out" "policy   strict" "status names the policy"
like "$out" "expires  never" "and that there is no deadline"
run lh status --json k
like "$out" '"policy": "strict"' "so does JSON"
ok "  which has no deadline" test "${out/expires_ms/}" = "$out"
run lh list
like "$out" "no end" "list says that nothing is left to run out"
run lh dump
like "$out" "until its end" "and so does dump"
kill -STOP "$pid"
run lh run -w 600ms k true
is "$status" 75 "a stopped holder keeps it"
run lh break k
is "$status" 0 "until an operator breaks it"
kill -CONT "$pid"
kill -TERM "$pid" 2>/dev/null
ended "$pid"

bg "$LEASEHOLD" run --policy live --ttl "$(t_ms 3000)ms" k sleep 150
until_true 5000 has_holders k 1 || diag "no holder"
run lh status k
like "$out" "policy   live" "status names the other one"
kill -STOP "$pid"
run lh run -w 10s k echo in
is "$status/$out" 0/in "a stopped holder loses it"
kill -CONT "$pid"
ended "$pid"

run lh run --policy strict k sh -c 'echo $LEASEHOLD_EXPIRES_MS'
is "$out" 9223372036854775807 "the command reads: never"
finish
