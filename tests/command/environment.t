#!/bin/bash
# SPDX-License-Identifier: MIT
# The command with unusual environment variables and descriptors (issue 21 A3).
#
# Otherwise a closed descriptor or a stray variable would lead the command to
# another table, or let its output overwrite the table.
. "$(dirname "$0")/lib.sh"
table env

value() {
	sed -n "s/^LEASEHOLD_$1=//p" <<<"$out"
}

run lh run --ttl 20s nightly env
is "$(value KEY)" nightly "LEASEHOLD_KEY"
is "$(value MODE)" exclusive "LEASEHOLD_MODE"
ok "LEASEHOLD_FENCE is a number" [ "$(value FENCE)" -gt 0 ]
first=$(value FENCE)
ok "LEASEHOLD_LEASE_ID is 32 hex digits" \
    grep -qx '[0-9a-f]\{32\}' <<<"$(value LEASE_ID)"
left=$(($(value EXPIRES_MS) - $(now_ms)))
between "$left" 15000 20000 "LEASEHOLD_EXPIRES_MS is the deadline, since 1970"
is "$(value HELD)" "$LEASEHOLD_TABLE:nightly=$(value LEASE_ID)" "LEASEHOLD_HELD"
ok "LEASEHOLD_LOSS_FD is a descriptor" [ "$(value LOSS_FD)" -gt 2 ]

for o in -s --shared "-x -s" "-s -F"; do
	# shellcheck disable=SC2086
	run lh run --ttl 20s $o nightly env
	is "$(value MODE)" shared "LEASEHOLD_MODE with $o"
done
for o in -x -e --exclusive "-s -x" "--shared --exclusive"; do
	# shellcheck disable=SC2086
	run lh run $o nightly env
	is "$(value MODE)" exclusive "LEASEHOLD_MODE with $o"
done
run lh run nightly env
ok "the next token is larger" [ "$(value FENCE)" -gt "$first" ]

# Ours override inherited ones.
export LEASEHOLD_KEY=old LEASEHOLD_MODE=old LEASEHOLD_FENCE=1 \
    LEASEHOLD_LEASE_ID=old LEASEHOLD_EXPIRES_MS=1 LEASEHOLD_LOSS_FD=0 \
    LEASEHOLD_HELD=junk
run lh run k env
is "$(value KEY)$(value MODE)" kexclusive "key and mode override"
isnt "$(value FENCE)" 1 "fence overrides"
isnt "$(value LEASE_ID)" old "lease id overrides"
isnt "$(value EXPIRES_MS)" 1 "deadline overrides"
isnt "$(value LOSS_FD)" 0 "loss descriptor overrides"
like "$(value HELD)" "junk,$LEASEHOLD_TABLE:k=" "held is added to"
is "$(grep -c ^LEASEHOLD_FENCE= <<<"$out")" 1 "each is there once"
unset LEASEHOLD_KEY LEASEHOLD_MODE LEASEHOLD_FENCE LEASEHOLD_LEASE_ID \
    LEASEHOLD_EXPIRES_MS LEASEHOLD_LOSS_FD LEASEHOLD_HELD
run env OTHER=kept "$LEASEHOLD" run k sh -c 'echo $OTHER'
is "$out" kept "other variables are left alone"

# A key is bytes.
odd=$'a b\n=\\\xff\e[31m'
run lh run "${odd//\\/\\\\}" sh -c 'printf %s "$LEASEHOLD_KEY"'
is "$out" "$odd" "a key of odd bytes arrives as it is"

# Tables: the holder's own, and what nesting needs to know.
run lh run a -- "$LEASEHOLD" run b env
like "$(value HELD)" "$LEASEHOLD_TABLE:a=" "nested: the outer key"
like "$(value HELD)" ",$LEASEHOLD_TABLE:b=" "nested: and the inner one"

# The command asks the table that `run` was given, not the usual one.
used=$LEASEHOLD_TABLE
run env -u LEASEHOLD_TABLE "$LEASEHOLD" run --table "$used" k -- \
    "$LEASEHOLD" status k
is "$status" 0 "the command asks the table of run --table"
run lh run k -- env
is "$(value TABLE)$(value SYSTEM)" "$used" "LEASEHOLD_TABLE, and no _SYSTEM"
if [ "$(id -u)" = 0 ]; then
	run env -u LEASEHOLD_TABLE "$LEASEHOLD" run --system --table "$used" \
	    k -- "$LEASEHOLD" status k
	is "$status" 0 "and the machine's table of run --system"
	run lh run --system k -- "$LEASEHOLD" status --table "$used" k
	is "$status" 1 "unless it names one of its own"
	run lh run --system k -- "$LEASEHOLD" run j env
	is "$(value SYSTEM)" 1 "a run inside is in the machine's table, too"
	LEASEHOLD_SYSTEM=1 run lh run --table "$used" k env
	is "$(value SYSTEM)" "" "an ancestor's _SYSTEM is not handed on"
fi

# Descriptors: what was inherited, the loss pipe, the liveness descriptor.
run lh run k bash -c 'ls -l /proc/self/fd/'"$(printf '$LEASEHOLD_LOSS_FD')"
like "$out" "pipe:" "LEASEHOLD_LOSS_FD is a pipe"
run lh run k bash -c 'read -t 0.2 -u $LEASEHOLD_LOSS_FD; echo $?'
is "$out" 142 "it is silent while the lease is held"
cat >"$dir/fds" <<'END'
for f in /proc/$$/fd/*; do
	printf '%s %s\n' "${f##*/}" "$(readlink "$f")"
done
END
run lh run k bash -c ". $dir/fds"
is "$(grep -c /dev/shm/ <<<"$out")" 0 \
    "no descriptor leads to the table or its live file"
live=$(grep "socket:" <<<"$out")
is "$(wc -l <<<"$live")" 1 "one is the second sign of life, a socket"
ok "its number is out of scripts' way" [ "${live%% *}" -ge 10 ]
with=$(wc -l <<<"$out")
run bash -c ". $dir/fds"
is $((with - $(wc -l <<<"$out"))) 2 "those two are all that the command gets"

# Signals: as our caller had them.
state() {
	lh run k sed -n 's/^Sig\(Blk\|Ign\):\t//p' /proc/self/status | tr '\n' ' '
}
plain=$(sed -n 's/^Sig\(Blk\|Ign\):\t//p' /proc/self/status | tr '\n' ' ')
is "$(state)" "$plain" "blocked and ignored signals are as without us"
is "$(trap '' HUP CHLD; state)" "$(trap '' HUP CHLD
	sed -n 's/^Sig\(Blk\|Ign\):\t//p' /proc/self/status | tr '\n' ' ')" \
    "also where HUP and CHLD are ignored"

# Nobody else's process group, so that supervisors' group signals arrive.
run bash -c 'set -m; "$LEASEHOLD" run k bash -c "ps -o pgid= -p \$\$,\$PPID"'
is "$(uniq <<<"$out" | wc -l)" 1 "the command is in our process group"

finish
