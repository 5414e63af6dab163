#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold sem`, and `run --permits`: as many jobs at once as the limit
# allows.
#
# Otherwise more jobs than allowed would run, or fewer.
. "$(dirname "$0")/lib.sh"
table sem

run lh sem status jobs
is "$status" 1 "no table: 1"
run lh sem destroy jobs
is "$status" 0 "nothing to destroy: 0"
run lh sem held jobs
is "$status$out$err" 1 "no table, no permit: 1"
run lh sem run --permits 2 jobs sh -c 'echo "$LEASEHOLD_KEY $LEASEHOLD_FENCE"'
is "$status" 0 "run under a permit: 0"
isnt "$out" "jobs " "  with its token"
run lh sem status jobs
is "$out" "jobs: 0 of 2 permits held, 0 waiting" "  given back after it"

# The job has a permit, and not the key of the semaphore's name.
# shellcheck disable=SC2016
in_job() { run lh sem run --permits 2 jobs sh -c "$1"; }
in_job '"$LEASEHOLD" held "$LEASEHOLD_KEY"'
is "$status" 0 "held of \$LEASEHOLD_KEY in the job: 0"
in_job '"$LEASEHOLD" verify "$LEASEHOLD_KEY" "$LEASEHOLD_FENCE"'
is "$status$err" 0 "verify of it and the token: 0"
in_job '"$LEASEHOLD" sem held jobs'
is "$status$out$err" 0 "sem held in the job: 0"
in_job '"$LEASEHOLD" held jobs'
is "$status" 1 "held of a key of the semaphore's name: 1"
in_job '"$LEASEHOLD" sem held others'
is "$status$err" 1 "sem held of another semaphore: 1"
in_job '"$LEASEHOLD" run -n jobs true'
is "$status$err" 0 "the key of the semaphore's name is free in the job"
in_job '"$LEASEHOLD" sem run -n --permits 2 jobs "$LEASEHOLD" sem held jobs'
is "$status$err" 0 "a second permit in the job: 0"
in_job 'exec 2>&1; "$LEASEHOLD" sem run -w 20s --permits 2 jobs \
    "$LEASEHOLD" sem run -w 20s --permits 2 jobs true'
is "$status" 75 "a third of two, inside both: 75"
like "$out" "it would wait for itself" "  because it would wait for itself"
between "$took" 0 "$(t_ms 10000)" "  at once"
in_job '"$LEASEHOLD" sem run --permits 1 jobs true'
is "$status" 64 "another number in the job: 64"
run lh run jobs "$LEASEHOLD" sem held jobs
is "$status" 1 "sem held inside a run of the key of that name: 1"
run lh sem held jobs
is "$status$out$err" 1 "sem held outside: 1"
# shellcheck disable=SC2016
lh sem run --permits 2 jobs sh -c 'echo "$LEASEHOLD_HELD"' >"$dir/left"
LEASEHOLD_HELD=$(cat "$dir/left") run lh sem held jobs
is "$status" 1 "sem held after the job, with its environment: 1"

bg "$LEASEHOLD" run --permits 2 jobs sleep 150
one=$pid
bg "$LEASEHOLD" run --permits 2 jobs sleep 150
two=$pid
both() { lh sem status jobs | grep -q '2 of 2'; }
ok "two at once" until_true 5000 both
run lh run -n --permits 2 jobs true
is "$status" 75 "a third, that does not wait: 75"
like "$err" "all 2 permits" "  and why"
run lh run -w 50ms --permits 2 jobs true
is "$status" 75 "or not for long: 75"
run lh run --permits 3 jobs true
is "$status" 64 "another number: 64"
like "$err" "has 2 permits, not 3" "  naming both"
run lh sem destroy jobs
is "$status" 75 "destroy, while it is used: 75"
run lh sem status --json jobs
is "$(jq -r '"\(.semaphore) \(.permits) \(.held) \(.waiting)"' <<<"$out")" \
    "jobs 2 2 0" "status as JSON"
bg "$LEASEHOLD" run --permits 2 jobs true
three=$pid
waits() { lh sem status jobs | grep -q '1 waiting'; }
ok "one waits" until_true 5000 waits
kill -KILL "$one"
ended "$three"
is "$status" 0 "  and is next when a holder is killed"
kill -TERM "$two"
ended "$two"
ended "$one"
ok "destroy, when nobody uses it" until_true 5000 lh sem destroy jobs
run lh run --permits 3 jobs true
is "$status" 0 "  then it can have another number"

run lh sem run jobs true
is "$status" 64 "sem run without --permits: 64"
run lh run --permits 0 jobs true
is "$status" 64 "no permits: 64"
run lh run --permits 257 jobs true
is "$status" 64 "too many: 64"
run lh run -s --permits 2 jobs true
is "$status" 64 "shared: 64"
run lh run --permits 2 a,b true
is "$status" 64 "two names: 64"
run lh sem sing jobs
is "$status" 64 "an unknown thing to do: 64"
run lh sem status
is "$status" 64 "no name: 64"
run lh sem held --json jobs
is "$status" 64 "held prints nothing: --json is 64"

finish
