#!/bin/bash
# SPDX-License-Identifier: MIT
# The times that `log --at` takes: each form means the moment that date(1) means
# by it, and anything else is refused.
#
# Otherwise an operator would ask about another moment than they think.
. "$(dirname "$0")/lib.sh"
table moments
export TZ=Europe/Berlin
lh run k true

# means FORM DATE: log --at FORM asks about the moment of `date -d DATE`
means() {
	local at

	run lh log --json --at "$1" k
	at=$(jq -r .at_ms <<<"$out")
	is "$at" "$(($(date -d "$2" +%s%N) / 1000000))" "'$1' is $2"
}

means '2026-01-02 03:04:05' '2026-01-02 03:04:05'
means '2026-07-02 03:04:05' '2026-07-02 03:04:05'
means '2026-01-02 03:04' '2026-01-02 03:04:00'
means '2026-01-02T03:04:05' '2026-01-02 03:04:05'
means '2026-01-02T03:04' '2026-01-02 03:04:00'
means '2026-01-02' '2026-01-02 00:00:00'
means '2026-01-02 03:04:05.25' '2026-01-02 03:04:05.25'
means '2026-01-02T03:04:05Z' '2026-01-02 03:04:05 UTC'
means '2026-07-02T03:04:05.5Z' '2026-07-02 03:04:05.5 UTC'
means '2026-01-02T03:04:05+05:30' '2026-01-02 03:04:05 +0530'
means '2026-01-02T03:04:05-0800' '2026-01-02 03:04:05 -0800'
means '2026-01-02T03:04:05+02' '2026-01-02 03:04:05 +0200'
means '2026-01-02T03:04Z' '2026-01-02 03:04:00 UTC'
means @1767323045.125 '@1767323045.125'
means 00:00 'today 00:00'
means 00:00:00 'today 00:00'

# near FORM MS: within a minute of so many ms before now (an hour's change of the
# clock does not move it)
near() {
	local at

	run lh log --json --at "$1" k
	at=$(jq -r .at_ms <<<"$out")
	between "$(($(now_ms) - at - $2))" 0 60000 "'$1' is ${2}ms ago"
}
near now 0
near -5m 300000
near -1.5h 5400000
near -36h 129600000

for bad in soon '2026-13-01' '2026-02-30' '2026-04-31T10:00:00Z' '2026-01-02T' '2026-01-02T03:04:05+' '-5y' '-' \
    '2026-01-02T03:04:05+25:00' \
    '2026-01-02 03:04:05x' '03:04:05Z' '' @ @-1 \
    '2026-01-02T03:04:05+02:'; do
	run lh log --at "$bad" k
	is "$status" 64 "'$bad': 64"
	like "$err" "--at: " "  says of what"
done
run lh log --at '2100-01-01T00:00:00Z' k
is "$status" 64 "the future: 64"
finish
