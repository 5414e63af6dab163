#!/bin/bash
# SPDX-License-Identifier: MIT
# A removal that was stopped halfway (SIGSTOP) is named by its process id, with the
# remedy, to each process that opens the table.
#
# Otherwise nobody would know which process to end or to resume.
. "$(dirname "$0")/lib.sh"
table stopped-removal
relink stopped-removal.c unlinkat

lh run k true
bg "$dir/leasehold" rm --force
removal=$pid
until_true 10000 is_stopped "$removal"
run lh run -n k true
is "$status" 75 "a removal is stopped halfway: 75"
like "$err" "process $removal, which is stopped" "  its process is named"
like "$err" "kill -CONT $removal" "  with the remedy"
run lh status k
like "$err" "process $removal, which is stopped" "status names it, too"
kill -CONT "$removal"
ended "$removal"
is "$status" 0 "resumed, it removes the table"
run lh run -n k true
is "$status" 0 "  and the name is free for the next one"
finish
