#!/bin/sh
# SPDX-License-Identifier: MIT
# A ledger with a column for the fencing token, in SQLite or PostgreSQL.
#
# Use it when a value is read from a database, worked on for a while, and
# written back.  The database refuses a writer that was stopped meanwhile,
# because a later one has put a larger token into the row.  Each booking has a
# name, so that it can be started again after a death at any moment, and counts
# once.
#
#	leasehold init --durable	# tokens grow over reboots, as the rows
#	sqlite3 ledger.db <ledger.sql; ledger.sh ledger.db booking-17 rent 250
#	psql books <ledger.sql; ledger.sh postgresql:///books booking-17 rent 250
set -eu
db=$1 booking=$2 account=$3 amount=$4
case $booking$account$amount in
*[!a-z0-9-]*)	echo "$0: a name has a-z, 0-9 and hyphens" >&2; exit 64 ;;
esac
if ! leasehold held "ledger/$account"; then
	exec leasehold run --ttl 10s --scope local "ledger/$account" -- "$0" "$@"
fi

# Runs statements, all or none; prints what they return.
sql() {
	case $db in
	postgresql:*)	psql -qAtX -v ON_ERROR_STOP=1 "$db" ;;
	*)		sqlite3 -bail -cmd '.timeout 5000' "$db" ;;
	esac
}
late() {
	echo "$0: too late: another process books on $account" >&2
	exit 1
}

# Show the token, and read.  Nothing is returned if a larger one was shown.
balance=$(sql <<-END
	BEGIN;
	INSERT INTO account VALUES ('$account', 0, 0) ON CONFLICT DO NOTHING;
	UPDATE account SET fence = $LEASEHOLD_FENCE
	    WHERE name = '$account' AND fence <= $LEASEHOLD_FENCE
	    RETURNING balance;
	COMMIT;
END
)
[ -n "$balance" ] || late
made=$(echo "SELECT amount FROM booking WHERE id = '$booking';" | sql)
if [ -n "$made" ]; then
	echo "$booking was made before: $made"
	exit 0
fi

# ... your work: a limit to be checked, another service to be asked ...
new=$((balance + amount))

# Write, if no larger token was shown meanwhile.  The update locks the row, so
# that both statements see the same token.
written=$(sql <<-END
	BEGIN;
	UPDATE account SET balance = $new
	    WHERE name = '$account' AND fence = $LEASEHOLD_FENCE
	    RETURNING balance;
	INSERT INTO booking SELECT '$booking', '$account', $amount FROM account
	    WHERE name = '$account' AND fence = $LEASEHOLD_FENCE;
	COMMIT;
END
)
[ -n "$written" ] || late
echo "$account: $written"
