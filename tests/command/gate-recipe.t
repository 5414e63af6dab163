#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 20
# Guarantee G2, issue 21 D2, the recipes of doc/gate.md: an old holder and a new
# one are each stopped between any two steps, in every order.  No update that
# was reported as done is lost.
#
# Otherwise a program that follows the manual would lose updates.
watch_s=600
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 1
PATH=$(dirname "$LEASEHOLD"):$PATH
STEPS=20	# more than there are in a recipe

example() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$here/../../doc/gate.md" | sed '1d;$d'
}

# The recipe, which stops itself before its step $STOP.
stopping() {
	cat <<'EOF'
step=0
trap '[ $((step += 1)) != "$STOP" ] || kill -STOP $$' DEBUG
EOF
	example "$1"
}

# state_of PID: $state; Z also if it is gone.  (No process is begun for that.)
state_of() {
	local line=

	{ read -r line; } 2>/dev/null <"/proc/$1/stat"
	line=${line##*) }
	state=${line%% *}
	state=${state:-Z}
}
mkfifo never
exec {never}<>never

# begin TOKEN STOP: $begun, which has stopped there or ended
begin() {
	LEASEHOLD_FENCE=$1 AMOUNT=$1 STOP=$2 bash recipe.sh 2>/dev/null &
	begun=$!
	until state_of "$begun"; [ "$state" = T ] || [ "$state" = Z ]; do
		read -r -t 0.005 -u "$never"
	done
}

# go_on PID: $status
go_on() {
	kill -CONT "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	status=$?
}

# play OLD-STOP NEW-STOP: the old one stops, the new one too, the old one ends,
# the new one ends; $accepted: the tokens of those that said so
play() {
	local old new

	accepted=
	begin 7 "$1"
	old=$begun
	begin 8 "$2"
	new=$begun
	go_on "$old"
	[ "$status" != 0 ] || accepted=7
	go_on "$new"
	[ "$status" != 0 ] || accepted="$accepted 8"
}

# count_steps: $n, of the recipe
count_steps() {
	for ((n = 0; n < STEPS; n++)); do
		reset
		begin 7 $((n + 1))
		[ "$state" = T ] || break
		go_on "$begun"
	done
	wait "$begun" 2>/dev/null
}

# all WHAT: plays every pair of stops
all() {
	local i j lost=0 both=0 refused=0

	count_steps
	[ "$n" -ge 4 ] || fail "$1: the recipe has steps"
	for ((i = 1; i <= n; i++)); do
		for ((j = 1; j <= n + 1; j++)); do
			reset
			play $i $j
			case $accepted in
			"7 8") both=$((both + 1)) ;;
			*) refused=$((refused + 1)) ;;
			esac
			kept || {
				lost=$((lost + 1))
				diag "stopped at $i and $j: done: $accepted"
			}
		done
	done
	is $lost 0 "$1: no update that was done is lost ($n steps)"
	ok "  some have both" test $both -gt 0
	ok "  some refuse one" test $refused -gt 0
}

# Files: a report has a line for each update.
make_report() {
	[ -z "$1" ] || cat "$1"
	echo "$LEASEHOLD_FENCE"
}
export -f make_report
reset() {
	rm -f report.* new.*
}
kept() {
	local last token

	last=$(printf '%s\n' report.[0-9]* | sort -t . -k 2n | tail -n 1)
	for token in $accepted; do
		grep -qx "$token" "$last" || return 1
	done
}
stopping 'sh file' >recipe.sh
all "files and a gate"

# A row: the amount is the sum of those that were done.
if command -v sqlite3 >/dev/null; then
	# not on a disk, which each statement would wait for
	shm=$(mktemp -d /dev/shm/leasehold-recipe.XXXXXX)
	trap 'rm -rf "$shm"; clean' EXIT
	export DB=$shm/db
	reset() {
		rm -f "$DB"
	}
	kept() {
		local sum=0 token

		for token in $accepted; do
			sum=$((sum + token))
		done
		[ "$(sqlite3 "$DB" 'SELECT amount FROM ledger')" = $sum ]
	}
	stopping 'sh sql' >recipe.sh
	all "a row of a database"
else
	skip "no sqlite3" "a row of a database"
fi

finish
