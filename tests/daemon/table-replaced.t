#!/bin/bash
# SPDX-License-Identifier: MIT
# A table that is removed, replaced, retired, damaged or cut short under the
# daemon: said once, and what follows under that name is looked after.
. "$(dirname "$0")/lib.sh"
table replaced
t=$LEASEHOLD_TABLE
make() {
	lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null
}

# works NAME: it serves the table of that name as it is now.
works() {
	bg "$LEASEHOLD" run -F --ttl 60s k sleep 60
	until_true 5000 state_is k held
	kill -KILL "$pid"
	ended "$pid"
	ok "$1" until_true 2000 state_is k free
}

reaperd
ok "not there: said so" logged "table $t does not exist yet"
make
ok "made: looked after" until_true 2000 logged "table $t is served"
works "  the dead are buried"
run lh rm
is "$status" 0 "the daemon does not keep rm from it"
ok "removed: said so" until_true 2000 logged "table $t was removed"
make
works "made again: the dead are buried"

rm "$(object)"
make
works "the object replaced: the dead are buried"

bg "$LEASEHOLD" run --ttl 60s other sleep 60
until_true 5000 state_is other held
run lh rm --force
is "$status" 0 "retired under its users"
make
works "and made again: the dead are buried"

mv "$(object)" "$(object).away"
tables+=("$t.away")
ok "taken away: not served" until_true 2000 eval \
    '[ "$(metric leasehold_reaper_serving)" = 0 ]'
mv "$(object).away" "$(object)"
works "and put back: the dead are buried"

# Cut short under a mapping: whoever touches it now gets SIGBUS.
for size in 4096 0; do
	: >"$dir/log"
	truncate -s $size "$(object)"
	ok "cut short to $size: left alone" until_true 2000 logged \
	    "table $t is not served: "
	sleep 0.3
	ok "  the daemon lives" kill -0 "$daemon"
	ok "  said once or twice" test "$(times_logged "is not served")" -le 2
	rm "$(object)"
	make
	works "another in its place: the dead are buried"
done

# Noise in all that it began with, but the header: what can be seen to is.
bg "$LEASEHOLD" run --ttl 60s victim sleep 60
until_true 5000 state_is victim held
kill -KILL "$pid"
: >"$dir/log"
dd if=/dev/urandom of="$(object)" bs=4096 seek=1 count=400 conv=notrunc \
    status=none
sleep 1
ok "noise in the table: the daemon lives" kill -0 "$daemon"
ok "  and says little" test "$(wc -l <"$dir/log")" -le 3
rm "$(object)"
make
works "another in its place: the dead are buried"

# Damaged: its header says that it is of a form that it is not.
: >"$dir/log"
kill -STOP "$daemon"
lh rm >/dev/null
head -c 3000000 /dev/urandom >"$(object)"
kill -CONT "$daemon"
ok "noise in its place: left alone" until_true 2000 logged \
    "table $t is not served: "
settle
is "$(times_logged "is not served")" 1 "  said once"
rm "$(object)"
make
works "another in its place: the dead are buried"

ok "no descriptor of an old one is kept" test \
    "$(ls -l "/proc/$daemon/fd" | grep -c '(deleted)')" -le 1
is "$(grep -c '(deleted)' "/proc/$daemon/maps")" 0 "  and no mapping"

finish
