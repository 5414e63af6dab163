#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold held KEY` is 0 inside a `run` that holds the key now, and 1
# everywhere else: also where the environment still names a lease that has
# ended, or another's.
#
# Otherwise a script would do its work without the key.
. "$(dirname "$0")/lib.sh"
table held

run lh held k
is "$status$out$err" 1 "no table: 1, and nothing is printed"
run lh run k "$LEASEHOLD" held k
is "$status$out$err" 0 "inside a run of the key: 0"
run lh run k "$LEASEHOLD" held j
is "$status$out$err" 1 "of another key: 1"
run lh run -s k "$LEASEHOLD" held k
is "$status" 0 "inside a shared one: 0"
run lh run 'a,b\,c' "$LEASEHOLD" held b,c
is "$status" 0 "one of two, with a comma in it: 0"
# shellcheck disable=SC2016
run lh run k "$LEASEHOLD" run j sh -c \
    '"$LEASEHOLD" held k && "$LEASEHOLD" held j'
is "$status" 0 "in a run inside a run: 0 for both"

bg "$LEASEHOLD" run k sleep 100
ok "  k is held" until_true 5000 is_held k
run lh held k
is "$status" 1 "held, but not by us: 1"
bg_k=$pid
kill "$bg_k"
ended "$bg_k"

# shellcheck disable=SC2016
lh run k sh -c 'echo "$LEASEHOLD_HELD"' >"$dir/left"
LEASEHOLD_HELD=$(cat "$dir/left") run lh held k
is "$status" 1 "after the run has ended, with its environment: 1"
bg "$LEASEHOLD" run k sleep 100
ok "  k is held" until_true 5000 is_held k
LEASEHOLD_HELD=$(cat "$dir/left") run lh held k
is "$status" 1 "and when another one holds it: 1"
LEASEHOLD_HELD='nonsense,test:k=xyz' run lh held k
is "$status" 1 "nonsense in the environment: 1"
kill "$pid"
ended "$pid"

# A script that locks itself, started twice.
cat >"$dir/self" <<'S'
#!/bin/sh
"$LEASEHOLD" held me || exec "$LEASEHOLD" run -qn me -- "$0" "$@"
echo "$1" >>"$2"
sleep "$3"
S
chmod +x "$dir/self"
bg "$dir/self" first "$dir/who" 100
until_true 5000 test -s "$dir/who"
run "$dir/self" second "$dir/who" 0
is "$status$err" 75 "a script that locks itself: the second one is busy"
is "$(cat "$dir/who")" first "  and does nothing"
kill "$pid"
ended "$pid"
run "$dir/self" third "$dir/who" 0
is "$status" 0 "  the third one runs"
is "$(tail -1 "$dir/who")" third "  and does its work"

run lh held
is "$status" 64 "no key: 64"
run lh held --json k
is "$status" 64 "--json: 64"
finish
