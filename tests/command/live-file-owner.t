#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G8: a live file that was given to another user is refused, because that
# user could end everybody's sign of life.  The message says whose it is, and
# how to give it back.  Then the table works as before, and a holder has kept its
# key.  Runs in a mount namespace of its own.
#
# Otherwise the only remedy would be to remove the table with its leases.
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table owner
own_places

bg "$LEASEHOLD" run --policy strict held sleep 100
until_true 5000 lh status held
live=$(echo /dev/shm/leasehold.0/"$LEASEHOLD_TABLE".live.*)
chown 4711 "$live"
run lh run -n k true
is "$status" 65 "the live file of another user is refused"
like "$err" "belongs to user 4711, and the table to user 0" "  it is named"
like "$err" "(chown 0)" "  and the message says how to give it back"
chown 0 "$live"
run lh run -n k true
is "$status" 0 "given back, the table works"
run lh run -n held true
is "$status" 75 "and its holder has kept its key"
finish
