#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantees G1 and G12, issue 21 A10: a set-uid program takes nothing from its
# caller's environment, which could name another table.
#
# Otherwise a user could make a set-uid program acquire its key in another
# table, beside the holder that the program should have waited for.
. "$(dirname "$0")/lib.sh"
table set-uid
key=set-uid.$$
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }

cp "$LEASEHOLD" "$dir/privileged"
chmod 755 "$dir"
chown root:root "$dir/privileged"
chmod 4755 "$dir/privileged"
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
run as_nobody "$dir/privileged" version
is "$status" 0 "nobody can run the copy"

bg "$LEASEHOLD" run "$key" sleep 60
until_true 5000 "$LEASEHOLD" status "$key"
run lh status "$key"
is "$status" 0 "the key is held in the table that the environment names"
run as_nobody "$dir/privileged" status "$key"
is "$status" 1 "the set-uid program asks another table"
run as_nobody "$dir/privileged" status --table "$LEASEHOLD_TABLE" "$key"
is "$status" 0 "its own option counts"

finish
