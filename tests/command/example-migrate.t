#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/migrate.sh: of six workers that start at once one
# migrates.  If it is killed in a migration, another one makes that anew; if it is
# stopped in one, too, and the late one changes nothing.
#
# Otherwise workers would start before the database is ready, or a migration would
# be made twice.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-migrate
command -v sqlite3 >/dev/null || skip "no sqlite3" "migrations"
command -v sqlite3 >/dev/null || finish
example migrate.sh "s/--ttl 10s/--ttl $(t_ms 2000)ms/"
stopping sqlite3
echo 'VALUES (2)' >stop-at
mkdir migrations
echo 'CREATE TABLE person (name TEXT);' >migrations/1.sql
echo "INSERT INTO person VALUES ('first');" >migrations/2.sql
echo 'ALTER TABLE person ADD COLUMN born INT;' >migrations/3.sql

database() {
	sqlite3 "$db" "$1"
}
workers=()
start_workers() {	# N
	local i

	workers=()
	for ((i = 0; i < $1; i++)); do
		start "worker$i" ./migrate.sh "$db" sh -c 'echo worker $$ is ready'
		workers+=("$pid")
	done
}
judge_workers() {	# NUMBER NAME
	local p ready=0

	for p in "${workers[@]}"; do
		ended "$p"
		[ "$status" != 0 ] || ready=$((ready + 1))
	done
	is $ready "$1" "$2"
	is "$(cat worker?.out | grep -c ready)" "$1" "  and work"
	is "$(database 'SELECT group_concat(version) FROM migration')" 1,2,3 \
	    "  every migration is made"
	is "$(database 'SELECT name, born FROM person')" 'first|' "  once"
}

db=six.db
start_workers 6
judge_workers 6 "six workers start"
is "$(cat worker?.out | grep -c 'migrates to 2')" 1 "  one of them migrates"
rm worker?.*
start_workers 1
judge_workers 1 "a later one starts"
is "$(cat worker?.out | grep -c migrates)" 0 "  without a migration"

stopped_there() {
	[ -s stopped ] && is_stopped "$(cat stopped)"
}
db=killed.db
rm worker?.*
: >stop
start_workers 4
ok "one of four is in a migration" until_true 20000 stopped_there
holder=$(holder_pid "migrate/$db")
slain "$holder"
kill -KILL "$(cat stopped)" 2>/dev/null
judge_workers 3 "it is killed: the other three start"

db=late.db
rm worker?.* stopped
: >stop
start_workers 3
ok "one of three is in a migration" until_true 20000 stopped_there
holder=$(holder_pid "migrate/$db")
kill -STOP "$holder"
has_version() {
	[ "$(database 'SELECT max(version) FROM migration')" = 3 ]
}
ok "it is stopped: another one migrates" until_true 20000 has_version
is "$(cat worker?.out | grep -c 'migrates to 2')" 2 "  from where it was"
kill -CONT "$(cat stopped)"
ok "the late one goes on" until_true 20000 gone "$(cat stopped)"
like "$(cat worker?.err)" UNIQUE "  and is refused by the database"
kill -CONT "$holder"
judge_workers 2 "the other two start"
finish
