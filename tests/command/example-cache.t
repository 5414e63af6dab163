#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/cache.c: eight processes that find the cache old have
# one builder.  If it is killed, one other builds; if it is stopped, too, and its
# late result counts as old as its data.
#
# Otherwise a cache that becomes old would be rebuilt by all its users at once, or
# its builder's death would leave it without a builder.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-cache
example cache.c "s/10000;/$(t_ms 2000);/"

askers=()
ask() {	# N
	local i

	askers=()
	for ((i = 0; i < $1; i++)); do
		start "ask$i" ./cache result 1000
		askers+=("$pid")
	done
}
builds() {
	cat ask?.err | grep -c builds
}
has_builder() {
	builder=$(sed -n 's/.*process \([0-9]*\) builds/\1/p' ask?.err)
	[ -n "$builder" ]
}
answers() {
	local p

	failed_askers=
	for p in "${askers[@]}"; do
		ended "$p"
		[ "$status" = 0 ] || failed_askers+="$p "
	done
}

ask 8
answers
is "$failed_askers" "" "eight askers have an answer"
is "$(builds)" 1 "  one of them has built it"
is "$(sort -u ask?.out)" "$(cat result)" "  all have the same"
run ./cache result 1000
is "$err" "" "a ninth one need not build"

rm -f result ask?.*
ask 8
ok "one of eight builds" until_true 20000 has_builder
kill -KILL "$builder"
answers
is "$failed_askers" "$builder " "it is killed: the others have an answer"
is "$(builds)" 2 "  one other has built it"

rm -f result ask?.*
: >stop
ask 4
ok "one of four builds" until_true 20000 has_builder
ok "  and stops before its result is there" until_true 20000 is_stopped "$builder"
kept=("${askers[@]}")
for p in "${kept[@]}"; do
	[ "$p" = "$builder" ] || askers=("$p")
	[ "$p" = "$builder" ] || ended "$p"
done
is "$(builds)" 2 "  the others have an answer, which one of them has built"
# the change of its times is the last one
read -r made changed < <(stat -c '%.3Y %.3Z' "result.$builder")
ok "its file is as old as the data, not as the result" \
    test $((${changed/./} - ${made/./})) -ge 400
touch -d '5 minutes ago' "result.$builder"
kill -CONT "$builder"
ended "$builder"
is "$(($(date +%s) - $(stat -c %Y result) >= 300))" 1 \
    "its late result has the age of its data"
run ./cache result 100
like "$err" "builds" "  so the next asker builds anew"
finish
