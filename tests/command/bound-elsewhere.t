#!/bin/bash
# SPDX-License-Identifier: MIT
# A key that is bound to a process of another pid namespace is shown as that, and
# `explain` names what ends it: nobody outside a container sees the end of its
# processes.
#
# Otherwise an operator would take process 1 of a container for that of the
# machine, and would wait for ever for a key of a container that is gone.
. "$(dirname "$0")/lib.sh"
table bound-elsewhere
unset LEASEHOLD_SESSION
if ! unshare -pf --mount-proc true 2>/dev/null; then
	echo "1..0 # SKIP no pid namespace can be made"
	exit 0
fi
where="of another pid namespace"
cat >"$dir/script" <<'END'
"$LEASEHOLD" session open --pid $$ job >/dev/null &&
    "$LEASEHOLD" acquire --session job k >/dev/null || exit
echo $$ >"$0.pid"
while [ ! -e "$0.end" ]; do sleep 0.05; done
END
bg unshare -pf --kill-child --mount-proc bash "$dir/script"
container=$pid
until_true 5000 test -s "$dir/script.pid"
inner=$(cat "$dir/script.pid")

run lh status k
like "$out" "session job[$inner $where]" "status: who"
like "$out" "with process $inner $where" "  until when"
run lh list
like "$out" "session job[$inner $where]" "list"
run lh log --at now k
like "$out" "session job[$inner $where]" "log --at"
run lh session list
like "$out" "$inner $where" "session list"
run lh session list --json
is "$(jq -c '.[0] | [.bound, .foreign, .pid]' <<<"$out")" \
    "[true,true,$inner]" "  as JSON"
run lh explain k
like "$out" "which ends with process $inner $where" "explain"
like "$out" "is not seen from here" "  says what that means"
like "$out" "if its process has ended:  leasehold session destroy \
--table $LEASEHOLD_TABLE 'job'" "  and what to do"

# The container ends.
touch "$dir/script.end"
ended "$container"
run lh run -n k true
is "$status" 75 "the container has ended: the key is held"
like "$err" "$where" "  the message says where its process was"
run lh session destroy job
is "$status" 0 "the session is destroyed"
run lh run -n k true
is "$status" 0 "  and the key is free"

# One of our own is not foreign.
run lh acquire --for-pid $$ k
run lh status k
like "$out" "with process $$" "bound to a process of this namespace"
is "$(grep -c "$where" <<<"$out")" 0 "  is not foreign"
run lh session list --json
is "$(jq -c '.[0].foreign' <<<"$out")" null "  nor as JSON"
run lh explain k
is "$(grep -c destroy <<<"$out")" 0 "  nor explained so"
finish
