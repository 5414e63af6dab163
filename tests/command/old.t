#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 21 B5: a table that is getting too old to grant leases: `stats` and
# `fsck` warn a year ahead; then nothing is granted, and the exit status is 69,
# until the table is removed and made again.  The command's clock can be moved:
# moved-clock.c.
#
# Otherwise all jobs would fail one day without a warning.
. "$(dirname "$0")/lib.sh"
table old
relink moved-clock.c clock_gettime dlopen
LEASEHOLD=$dir/leasehold
day=86400
left() {
	lh stats --json | jq .life_left_s
}
at() {		# at DAYS: from now on the clock is ahead by so many
	export LH_TEST_AHEAD=$(($1 * day))
}

lh init --keys 100 --sessions 16 --leases 128 >/dev/null
between "$(left)" $((9 * 365 * day)) $((3305 * day)) "nine years are left"
run lh stats
is "$(grep -c ^life <<<"$out")" 0 "which is not worth a line"
run lh fsck
is "$status$err" 0 "nor a warning of fsck"
at 3000
run lh stats
like "$out" "life      304 days more, then nothing is granted here" \
    "a year ahead stats tells it"
run lh fsck
is "$status" 0 "the table is sound"
like "$err" "warning: 304 days more" "  and fsck warns"
like "$(lh stats --prometheus)" "leasehold_life_left_seconds" "a metric"
run lh run k true
is "$status" 0 "leases are granted"
at 3306
is "$(left)" 0 "when no time is left"
run lh stats
like "$out" "nothing is granted or extended here any more" "stats tells it"
run lh run k true
is "$status" 69 "nothing is granted: 69"
like "$err" "is more than nine years old" "  says why"
like "$err" "leasehold rm" "  and what to do"
run lh acquire k
is "$status" 69 "nor by acquire: 69"
run lh session open --ttl 60s s
is "$status" 69 "nor is a session made: 69"
run lh list
is "$status" 0 "what is there can be looked at"
run lh fsck
is "$status" 0 "and is sound"
run lh rm
is "$status" 0 "the table is removed"
run lh run k true
is "$status" 0 "and the next one grants"
between "$(left)" $((9 * 365 * day)) $((3305 * day)) "for nine years"

finish
