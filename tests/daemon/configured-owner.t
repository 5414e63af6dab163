#!/bin/bash
# SPDX-License-Identifier: MIT
# Daemons under their own user serve a table of the machine that root's
# configuration names that user for: the reaper serves it, and processes of
# other users believe the shim.  Without the configuration neither (finding A2).
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP needs root"
	exit 0
fi
[ -n "${own_etc:-}" ] || exec env own_etc=1 unshare -m "$0"
. "$(dirname "$0")/lib.sh"
table owner
SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
must_run "$SHIMD"
forget LEASEHOLD_SHIMD_
name=$LEASEHOLD_TABLE
own_places
echo 'keeper:x:4711:4711::/:/bin/sh' >>/etc/passwd
chmod 755 "$dir"
cp "$LEASEHOLD" "$REAPERD" "$SHIMD" "$dir"
# shellcheck disable=SC2317
as() {		# as USER PROGRAM OPTION...: of group 4711
	local user=$1 program=$2

	shift 2
	setpriv --reuid "$user" --regid 4711 --clear-groups "$dir/$program" "$@"
}
daemon() {	# daemon PROGRAM OPTION...: of user 4711
	: >"$dir/log"
	chmod 666 "$dir/log"
	# shellcheck disable=SC2016
	bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" \
	    setpriv --reuid 4711 --regid 4711 --clear-groups "$dir/$1" -f \
	    "${@:2}"
}
export RUNTIME_DIRECTORY=$dir/own STATE_DIRECTORY=$dir/own
mkdir "$dir/own"
chown 4711 "$dir/own"
chmod 755 "$dir/own"
printf '%s\n' "[table $name]" "owner = keeper" "mode = 660" \
    >/etc/leasehold.conf

run lh init --system --configured --keys 1000 --sessions 64 --leases 8192
is "$status" 0 "made for the daemons' user"
daemon leasehold-reaperd --system -t "$name"
ok "the reaper serves it" until_true 5000 logged \
    "table $name is served"
kill -TERM "$pid"
ended "$pid"

daemon leasehold-shimd --system -t "$name" -e http://127.0.0.1:1
ok "the shim serves it" until_true 5000 logged "is unreachable"
for user in 4711 4712 0; do
	run as "$user" leasehold run --system -n cluster:k true
	is "$status" 69 "user $user asks the shim"
	like "$err" "Connection refused" "  and it answers"
done
kill -TERM "$pid"
ended "$pid"
is "$status" 0 "it ends when told to"

rm /etc/leasehold.conf
daemon leasehold-reaperd --system -t "$name"
ok "without the configuration the reaper leaves it alone" until_true 5000 \
    logged "whom /etc/leasehold.conf does not name"
kill -TERM "$pid"
ended "$pid"
run as 4711 leasehold-shimd --system -f -t "$name" -e http://127.0.0.1:1
isnt "$status" 0 "the shim does not serve it ($status)"
like "$err" "whom /etc/leasehold.conf does not name" "  and says why"
run as 4712 leasehold run --system k true
is "$status" 77 "and other users do not use it: 77"

finish
