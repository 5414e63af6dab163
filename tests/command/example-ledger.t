#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/ledger.sh: bookings of several processes at once are all
# in the balance.  One that is killed before it has written is made when it is
# started again, and a second start of one that was made changes nothing.  A late
# one is refused by the row's token.  LEDGER_DB: in that database, not in SQLite.
#
# Otherwise money would be lost by the very example that shows how to keep it.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-ledger
example ledger.sh "s/--ttl 10s/--ttl $(t_ms 2000)ms/"
db=${LEDGER_DB:-$dir/ledger.db}
client=sqlite3
[ -z "${LEDGER_DB:-}" ] || client=psql
if ! command -v $client >/dev/null; then
	skip "no $client" "a ledger"
	finish
fi
stopping $client
echo 'SET balance' >stop-at

database() {	# STATEMENT
	case $db in
	postgresql:*)	psql -qAtX "$db" -c "$1" ;;
	*)		sqlite3 "$db" "$1" ;;
	esac
}
balance() {
	database "SELECT balance FROM account WHERE name = '$1'"
}
case $db in
postgresql:*)	run psql -qX -v ON_ERROR_STOP=1 "$db" \
    -f "$here/../../doc/examples/ledger.sql" ;;
*)	run sqlite3 "$db" ".read $here/../../doc/examples/ledger.sql" ;;
esac
is "$status$err" 0 "the tables are made"
lh init --durable >init.out

run ./ledger.sh "$db" b1 rent 250
is "$status$out" "0rent: 250" "a booking"
run ./ledger.sh "$db" b1 rent 250
is "$status$out" "0b1 was made before: 250" "  is made once"
run ./ledger.sh "$db" b2 "rent'; DROP" 1
is "$status" 64 "a name that is no name is refused"
for i in 1 2 3 4; do
	start "many$i" ./ledger.sh "$db" "m$i" heat 10
	many[i]=$pid
done
for p in "${many[@]}"; do
	ended "$p"
done
is "$(balance heat)" 40 "four at once are all in the balance"

stopped_there() {
	[ -s stopped ] && is_stopped "$(cat stopped)"
}
# begin_booking: one that stops before it writes; $wrapper, and the file `stopped`
begin_booking() {
	rm -f stopped
	: >stop
	start "$1" ./ledger.sh "$db" "$1" rent 1000
	wrapper=$pid
	ok "booking $1 stops before it writes" until_true 20000 stopped_there
}
begin_booking killed
slain "$wrapper"
kill -KILL "$(cat stopped)" 2>/dev/null
run ./ledger.sh "$db" other rent 50
is "$out" "rent: 300" "  it is killed: another one is made"
run ./ledger.sh "$db" killed rent 1000
is "$out" "rent: 1300" "  and it is made when it is started again"

begin_booking late
kill -STOP "$wrapper"
run ./ledger.sh "$db" next rent 1
is "$status$out" "0rent: 1301" "  it is stopped: another one is made"
fence=$(database "SELECT fence FROM account WHERE name = 'rent'")
kill -CONT "$(cat stopped)"
ok "the late one goes on" until_true 20000 gone "$(cat stopped)"
until_true 20000 test -s late.err
like "$(cat late.err)" "too late" "  and is refused by the row"
kill -CONT "$wrapper"
ended "$wrapper"
isnt "$status" 0 "  and fails"
is "$(balance rent)" 1301 "  its amount is not in the balance"
is "$(database "SELECT fence FROM account WHERE name = 'rent'")" "$fence" \
    "  the row has the later one's token"
run ./ledger.sh "$db" late rent 1000
is "$out" "rent: 2301" "  started again, it is made"
finish
