#!/bin/sh
# SPDX-License-Identifier: MIT
# Migrations at the start of N workers: the first one migrates, the others wait.
#
# Use it when every worker needs the database in its latest form, and all of
# them start at once.  A worker that dies in a migration leaves nothing of it,
# and the next one in line goes on from there.  A worker that was stopped
# cannot repeat a migration: it and its number are one transaction, so no token
# is needed.
#
#	migrate.sh app.db worker --port 8080	# beside migrations/1.sql, 2.sql, ...
set -eu
db=$1

sql() {
	sqlite3 -bail -cmd '.timeout 60000' "$db"
}
version() {
	echo 'SELECT max(version) FROM migration;' | sql 2>/dev/null || :
}
latest=$(printf '%s\n' migrations/*.sql | tr -dc '0-9\n' | sort -n | tail -n 1)

# The part that runs under the key.
if leasehold held "migrate/$db"; then
	echo 'CREATE TABLE IF NOT EXISTS migration (version INT PRIMARY KEY);' | sql
	done=$(version)
	for next in $(seq $((${done:-0} + 1)) "$latest"); do
		echo "process $$ migrates to $next"
		step=$(cat "migrations/$next.sql")
		# fails as a whole if the number is there
		sql <<-END
			BEGIN IMMEDIATE;
			INSERT INTO migration VALUES ($next);
			$step
			COMMIT;
		END
	done
	exit 0
fi

# No key is asked for once the database has its latest form.
if [ "$(version)" != "$latest" ]; then
	leasehold run --ttl 10s --info "migration to $latest" "migrate/$db" -- "$0" "$@"
fi
shift
exec "$@"
