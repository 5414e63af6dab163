#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/ledger.sh with a real PostgreSQL of Debian's: all that
# tests/command/example-ledger.t asserts with SQLite.  The server is private: it
# stands in a folder of the test, and listens at a socket there alone.
#
# Otherwise the example would be right with one database only.
watch_s=600
. "$(dirname "$0")/../command/lib.sh"
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
must_run "$bin/postgres" /usr/bin/psql
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid postgres --regid postgres --clear-groups --reset-env)
	chmod 711 "$dir"
	install -d -o postgres -g postgres -m 700 "$dir/pg"
else
	mkdir -m 700 "$dir/pg"
fi
run "${as[@]}" "$bin/initdb" -D "$dir/pg/data" -U books -A trust --no-sync
is "$status" 0 "a private database server is made"
[ "$status" = 0 ] || diag "$out" "$err"
bg "${as[@]}" "$bin/postgres" -D "$dir/pg/data" -k "$dir/pg" -c listen_addresses= \
    -c fsync=off
server=$pid
# it is for its owner alone, whom we ask as
chmod 711 "$dir/pg" 2>/dev/null
db="postgresql:///postgres?host=$dir/pg&user=books"
answers() {
	psql -qAtX "$db" -c 'SELECT 1'
}
ok "  and answers" until_true 30000 answers
run env LEDGER_DB="$db" "$here/../command/example-ledger.t"
is "$status" 0 "the ledger keeps its promises there"
[ "$status" = 0 ] || diag "$out" "$err"
between "$(grep -c "^ok" <<<"$out")" 15 100 "  all of them"
is "$(psql -qAtX "$db" -c "SELECT balance FROM account WHERE name = 'rent'")" 2301 \
    "  and the balance is in this database"
kill -INT "$server"
ended "$server"
is "$status" 0 "the server ends"
finish
