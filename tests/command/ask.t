#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold ask`: a holder is asked to release its key, learns who asked, and
# does what `run --on-ask` says.
#
# Otherwise a job that would release its key gladly never learns that somebody
# waits for it.
. "$(dirname "$0")/lib.sh"
table ask

run lh ask k
is "$status" 1 "ask without a table: 1"
run lh run k true
run lh ask k
is "$status" 1 "nobody holds it: 1"
like "$err" "nobody holds 'k'" "  and that is said"

bg "$LEASEHOLD" run k sleep 150
holder=$pid
until_true 5000 is_held k
run lh ask k
is "$status" 0 "asked: 0"
like "$out" "k: sleep[$holder], exclusive" "  and who"
run lh ask --json k
is "$status" 0 "with --json: 0"
like "$out" '"holders"' "  the key as status has it"
ok "  the holder goes on" until_true 1000 is_held k
run lh ask --lease 00000000000000010000000000000001 k
is "$status" 1 "not by that lease: 1"
kill -TERM "$holder"
ended "$holder"

# One after the other; each is heard at once, most of them at the least.  (By a
# look twice a second it would be one in four.)
mkfifo "$dir/said"
exec 5<>"$dir/said"
bg bash -c 'exec "$0" run k sleep 150 2>"$1"' "$LEASEHOLD" "$dir/said" 5>&-
holder=$pid
until_true 5000 is_held k
begun "$holder"
eight_times() {
	local began heard=0 line

	soon=0
	for _ in 1 2 3 4 5 6 7 8; do
		nap 70
		lh ask k >/dev/null
		began=$(now_ms)
		read -r -t $((5 * slow)) -u 5 line
		took=$(($(now_ms) - began))
		[[ $line == *"somebody asks"* ]] && heard=$((heard + 1))
		[ "$took" -lt "$(t_ms 150)" ] && soon=$((soon + 1))
	done
	is "$heard" 8 "asked eight times, heard eight times"
	[ "$soon" -ge 7 ]
}
tries eight_times
between "$soon" 7 8 "  and at once"
read -r -t 0.3 -u 5
is "$?" 142 "  and never once more"
kill -TERM "$holder"
ended "$holder"

# The same of a break, soon after the grant: a look twice a second would take
# half a second.
broken() {
	local began

	bg "$LEASEHOLD" run k sleep 150
	holder=$pid
	begun "$holder"
	lh break k >/dev/null
	began=$(now_ms)
	ended "$holder"
	took=$(($(now_ms) - began))
}
in_time "$(t_ms 250)" broken
is "$status" 76 "broken: 76"
between "$took" 0 "$(t_ms 250)" "  and at once, too"

bg "$LEASEHOLD" run --on-ask term k sleep 150
holder=$pid
until_true 5000 is_held k
run lh ask k
is "$status" 0 "asked: 0"
ended "$holder"
is "$status" 143 "  and a command that is to end then does"
run lh run -n k true
is "$status" 0 "  the key is free"

run lh run --on-ask sing k true
is "$status" 64 "an unknown thing to do: 64"
run lh ask
is "$status" 64 "no key: 64"
run lh ask a b
is "$status" 64 "two keys: 64"

finish
