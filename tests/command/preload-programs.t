#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 B4, leasehold-preload: programs as they are in the packages.  flock(1)
# of util-linux waits, is refused and gives up as without the library, and two
# writers of sqlite3 exclude each other; meanwhile the command shows their keys.
#
# Otherwise the library might suit the test's own program alone.
. "$(dirname "$0")/lib.sh"
. "$here/preload-lib.sh"
table preload-programs
file f

preloaded() {
	env LD_PRELOAD="$PRELOADED" "$@"
}

# flock(1)
bg env LD_PRELOAD="$PRELOADED" flock "$file" sleep 1000
holds=$pid
ok "flock(1) holds a key" until_true 20000 has_holders "$key" 1
is "$(holder_pid "$key")" "$holds" "  itself"
run preloaded flock -n "$file" true
is "$status" 1 "another one is refused"
run preloaded flock -w 0.5 "$file" true
is "$status" 1 "  and gives up a wait"
run flock -n "$file" true
is "$status" 1 "  and so is one without the library"
bg env LD_PRELOAD="$PRELOADED" flock "$file" true
ok "another one waits in the kernel" until_true 20000 \
    grep -q -- '-> FLOCK' /proc/locks
waits=$pid
pkill -KILL -P "$holds"
ended "$holds"
ended "$waits"
is "$status" 0 "  and gets the lock"
run preloaded flock -n "$file" true
is "$status" 0 "the file is free"

# sqlite3
db=$dir/app.db
sqlite3 "$db" 'CREATE TABLE t (n); INSERT INTO t VALUES (0)'
db_key=$(stat -c 'file:%d:%i' "$db")
mkfifo "$dir/sql"
env LD_PRELOAD="$PRELOADED" sqlite3 "$db" <"$dir/sql" >"$dir/sql.out" 2>&1 3>&- &
writer=$!
mind $writer
exec 8>"$dir/sql"
echo 'BEGIN EXCLUSIVE; UPDATE t SET n = n + 1; SELECT n FROM t;' >&8
ok "a writer of sqlite3 has begun" until_true 20000 grep -q 1 "$dir/sql.out"
list=$(lh list "$db_key")
like "$list" "$db_key:" "leasehold list shows a key of its file"
like "$(lh list --json "$db_key")" "$writer" "  held by it"
run preloaded sqlite3 "$db" 'UPDATE t SET n = 100'
like "$err" locked "another writer is refused"
run sqlite3 "$db" 'UPDATE t SET n = 100'
like "$err" locked "  and so is one without the library"
preloaded sqlite3 "$db" '.timeout 60000' 'UPDATE t SET n = n + 10' \
    >"$dir/second" 2>&1 3>&- &
second=$!
mind $second
echo 'COMMIT;' >&8
exec 8>&-
ended $writer
is "$status" 0 "it commits"
ended $second
is "$status$(cat "$dir/second")" 0 "  and a writer that waited does"
is "$(sqlite3 "$db" 'SELECT n FROM t')" 11 "no update is lost"
finish
