#!/bin/bash
# SPDX-License-Identifier: MIT
# HUP: the configuration is read again, as a whole or not at all.  USR1: tells
# how it goes.
. "$(dirname "$0")/lib.sh"
table reload-a
a=$LEASEHOLD_TABLE
served_a() {
	lh init --table "$a" --keys 100 --sessions 16 --leases 1024 >/dev/null
}
served_a
table reload-b
b=$LEASEHOLD_TABLE
lh init --keys 100 --sessions 16 --leases 1024 >/dev/null
conf=$XDG_CONFIG_HOME/leasehold-reaperd.conf

cd "$dir" || exit 1
echo "tables = $a" >given.conf
reaperd_with -c given.conf
ok "a is looked after" logged "table $a is served"
echo "tables = $a, $b" >given.conf
kill -HUP "$daemon"
ok "HUP: so is b" until_true 5000 logged "table $b is served"
ok "  said so" until_true 5000 logged "configuration read again"
is "$(times_logged "table $a is served")" 1 "  and a all the time"

echo "tables = $b $a nonsense/" >given.conf
kill -HUP "$daemon"
ok "an error: said where" until_true 5000 logged \
    "$dir/given.conf:1: tables: 'nonsense/' is no name for a table"
ok "  and what follows" logged "the old configuration stays in use"
is "$(metric leasehold_reaper_serving "$a")" 1 "  a is looked after"
is "$(metric leasehold_reaper_serving "$b")" 1 "  and b"
rm given.conf
kill -HUP "$daemon"
ok "the file is gone: said so" until_true 5000 logged \
    "cannot read the configuration $dir/given.conf"

printf 'tables = %s\nmetrics = %s\npidfile = %s\n' "$b" "$dir/elsewhere" \
    "$dir/otherpid" >given.conf
kill -HUP "$daemon"
ok "without a: not served" until_true 5000 logged \
    "table $a was removed, or is not configured any more"
until_true 5000 test -S "$dir/elsewhere"
ok "another socket" test -S "$dir/elsewhere" -a ! -e "$socket"
socket=$dir/elsewhere
ok "  answers" until_true 5000 metric_is leasehold_reaper_serving 1
ok "  and knows nothing of a" until_true 2000 eval \
    '[ "$(metric leasehold_reaper_serving "$a")" = "" ]'
ok "the pid file stays" logged "the pid file stays $pidfile until the daemon is restarted"

kill -USR1 "$daemon"
ok "USR1 logs each table" until_true 5000 logged "table $b: 0 sessions"
echo "log_level = error" >>given.conf
kill -HUP "$daemon"
# the last that it says before it goes by that
until_true 5000 eval '[ "$(times_logged "the pid file stays")" = 2 ]'
: >"$dir/log"
kill -USR1 "$daemon"
ok "  whatever the level" until_true 5000 logged "table $b: 0 sessions"
is "$(wc -l <"$dir/log")" 1 "  and nothing else at that level"

kill -TERM "$daemon"
ended "$daemon"
is "$status" 0 "ends with 0"
ok "  no socket" test ! -e "$socket"

# The user's own file, where nobody names one; root's is the machine's.
if [ "$(id -u)" != 0 ]; then
	echo nonsense >"$conf"
	run "$REAPERD" -n
	is "$status" 78 "the user's own file is read"
else
	skip "root reads the machine's" "the user's own file is read"
fi

finish
