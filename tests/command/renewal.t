#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# Guarantee G1, tools/renewal_schedule.h: renewals that fail for a while are
# retried.  If they go on failing, the command is asked to end, and killed
# before the deadline, so that it never runs beside the next holder.  The
# command's renewal can be made to fail: fault.c.
#
# Otherwise a job would run beside the next holder.
. "$(dirname "$0")/lib.sh"
table renewal
relink fault.c lh_extend
export LH_TEST_FAULT=$dir/fault
ttl=$(t_ms 4000)

hold() {	# hold OPTIONS... COMMAND...: with failing renewals from now on
	rm -f "$dir"/{fault,up,beat,term,log}
	bg "$dir/leasehold" run --ttl "${ttl}ms" "$@" 2>"$dir/log"
	holder=$pid
	until_true 5000 test -s "$dir/up"
	expires=$(lh status --json k | jq -r '.holders[0].expires_ms')
	granted=$((expires - ttl))
	touch "$dir/fault"
}

# A command that notes when it was asked to end, and when it lived last: with no
# process for each step, of which there are hundreds.
cat >"$dir/deaf" <<END
trap 'date +%s%3N >$dir/term' TERM
echo up >$dir/up
while :; do echo "\${EPOCHREALTIME/[.,]/}" >>$dir/beat
    read -r -t 0.01 <>"$dir/naps"; done
END

# For a while.
for_a_while() {
	hold k bash "$dir/deaf"
	nap $((ttl / 2))
	rm "$dir/fault"
	nap $((ttl))
	is_held k && [ ! -e "$dir/term" ] && return
	kill -KILL "$(pgrep -P "$holder")"
	ended "$holder"
	return 1
}
tries for_a_while
ok "renewals that fail for a while are borne" is_held k
ok "  TERM was not sent" test ! -e "$dir/term"
is "$(grep -c "cannot renew" "$dir/log")" 1 "  said once"
is "$(grep -c "renewed 'k' after" "$dir/log")" 1 "  and when it was over"
kill -KILL "$(pgrep -P "$holder")"
ended "$holder"
is "$status" 137 "  the command's own status in the end"

# is_between N LOW HIGH
is_between() {
	[ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

# For good.
for_good() {
	hold k bash "$dir/deaf"
	bg "$LEASEHOLD" run -w 150s k date +%s%3N >"$dir/next"
	next=$pid
	ended "$holder"
	is "$status" 76 "renewals that go on failing: 76"
	ended "$next"
	term=$(($(cat "$dir/term") - granted))
	beat=$(tail -n 1 "$dir/beat")
	last=${beat%???}
	beat=$((last - granted))
	is_between "$term" $((ttl * 3 / 4 - 50)) $((ttl * 9 / 10)) &&
	    is_between "$beat" $((ttl * 8 / 10)) $((ttl - 50)) &&
	    [ "$(cat "$dir/next")" -ge "$last" ]
}
tries for_good
between "$term" $((ttl * 3 / 4 - 50)) $((ttl * 9 / 10)) \
    "  TERM at three quarters of the lease"
between "$beat" $((ttl * 8 / 10)) $((ttl - 50)) \
    "  KILL after nine tenths, before the deadline"
ok "  the next holder came after the last step of this one" \
    [ "$(cat "$dir/next")" -ge "$last" ]
like "$(cat "$dir/log")" "its lease cannot be renewed" "  says why"

# A command that heeds TERM is not killed, and the key is free at once.
cat >"$dir/good" <<END
trap 'echo bye >$dir/term; exit 0' TERM
echo up >$dir/up
while :; do read -r -t 0.02 <>"$dir/naps"; done
END
heeds() {
	hold k bash "$dir/good"
	ended "$holder"
	took=$(($(now_ms) - granted))
}
in_time $((ttl - 50)) heeds
between "$took" $((ttl * 3 / 4 - 50)) $((ttl - 50)) \
    "a command that heeds TERM ends in time"
is "$status" 76 "  76"
ok "  and is free before the deadline" is_free k

# --on-loss warn leaves it alone; the loss comes at the deadline.
warned() {
	hold --on-loss warn --lost-exit-code 5 k bash "$dir/deaf"
	until_true 20000 grep -q "goes on without it" "$dir/log"
	took=$(($(now_ms) - granted))
	ok "--on-loss warn: TERM was not sent" test ! -e "$dir/term"
	kill -KILL "$(pgrep -P "$holder")"
	ended "$holder"
	is "$status" 5 "  --lost-exit-code says so"
}
in_time $((ttl + $(t_ms 1500))) warned
between "$took" $((ttl - 50)) $((ttl + $(t_ms 1500))) "  lost at the deadline"

finish
