#!/bin/bash
# SPDX-License-Identifier: MIT
# Refusals of the cluster, as the user of a command sees them.  A user may not
# use any key, or one key, or not any more.  A certificate is not believed, on
# either side.  A token of etcd's that expires is renewed, and nobody notices.
watch_s=300
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 8000)
member_flags+=(--auth-token-ttl 1 --bcrypt-cost 4)
etcd_up 1

ctl() {
	ETCDCTL_API=3 etcdctl --endpoints "$endpoints" "$@" >/dev/null 2>&1
}

as_user() {
	export LEASEHOLD_SHIMD_USER=$1
	(umask 077; echo "$2" >"$dir/password")
	export LEASEHOLD_SHIMD_PASSWORD_FILE=$dir/password
}

# users: one who may, one who may read, one who may not have some keys
ok "users" eval 'ctl user add root:r && ctl user grant-role root root &&
	ctl role add all &&
	ctl role grant-permission all readwrite --prefix leasehold/ &&
	ctl user add may:secret && ctl user grant-role may all &&
	ctl role add other &&
	ctl role grant-permission other readwrite --prefix other/ &&
	ctl user add stranger:secret && ctl user grant-role stranger other &&
	ctl role add some &&
	ctl role grant-permission some read --prefix leasehold/ &&
	ctl role grant-permission some readwrite --prefix leasehold/s/ &&
	ctl role grant-permission some readwrite --prefix leasehold/q/open &&
	ctl user add some:secret && ctl user grant-role some some &&
	ctl auth enable'
as_user stranger secret
host_away 1
until_true 5000 logged 1 "cannot be used"
refused_with "permission denied" 1 "no permission at all"
kill -KILL "${shims[1]}"
as_user may wrong
shim 1
until_true 5000 logged 1 "invalid user"
refused_with "invalid user ID or password" 1 "a wrong password"
kill -KILL "${shims[1]}"
as_user some secret
host 2
run lh_on 2 run -n cluster:open true
is "$status" 0 "a key that one may have"
refused_with "permission denied" 2 "a key that one may not have" 77 \
    cluster:secret
run lh_on 2 run -n cluster:open true
is "$status" 0 "the other one goes on"

logins() {
	ask 1 metrics | awk '/^grpc_server_handled_total.*"OK".*"Authenticate"/ {
		n += $NF } END { print n + 0 }'
}

as_user may secret
host 3
run lh_on 3 run -n cluster:k true
is "$status" 0 "a user who may"
before=$(logins)
for ((n = 0; n < 3; n++)); do
	nap 2500
	run lh_on 3 run -n "cluster:k$n" true
	is "$status" 0 "its token has expired: nobody notices"
done
ok "  a token was asked for again" test "$(logins)" -gt "$before"
ok "  nothing was lost" eval '! logged 3 lost && ! logged 3 refused'

# a permission that is taken away from who waits, and given back
queued() {
	[ "$(ETCDCTL_API=3 etcdctl --endpoints "$endpoints" --user root:r \
	    get --prefix --keys-only leasehold/q/open | grep -c .)" -eq "$1" ]
}

bg env LEASEHOLD_TABLE="${table[3]}" GO="$dir/go" bash -c '"$LEASEHOLD" \
    run cluster:open sh -c "until [ -e \"\$GO\" ]; do sleep 0.1; done"'
holder=$pid
until_true 5000 is_held_on 3 cluster:open
bg env LEASEHOLD_TABLE="${table[2]}" bash -c \
    '"$LEASEHOLD" run -s -w 60s cluster:open true 2>"$0"' "$dir/waited"
waiter=$pid
ok "one waits" until_true 5000 queued 2
ok "the permission is taken away" ctl --user root:r \
    role revoke-permission some --prefix leasehold/q/open
touch "$dir/go"
ended "$holder"
ended "$waiter"
is "$status" 77 "at its turn the waiter fails: 77"
like "$(cat "$dir/waited")" "permission denied" "  why"
diag "$(cat "$dir/waited")"
ok "it is given back" ctl --user root:r \
    role grant-permission some readwrite --prefix leasehold/q/open
for i in 3 2; do
	ok "host $i has the key again, soon" until_true 5000 \
	    lh_on $i run -w 5s cluster:open true
done
kill -KILL "${members[1]}" "${shims[2]}" "${shims[3]}"
unset LEASEHOLD_SHIMD_USER LEASEHOLD_SHIMD_PASSWORD_FILE
rm -rf "$data"

# certificates: sign NAME SUBJECT CA
certs=$dir/certs
mkdir "$certs"
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -days 2 -subj "/CN=$1" -keyout "$certs/$1.key" -out "$certs/$1.pem"
}

sign() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
	    -subj "/CN=$1" -keyout "$certs/$1.key" -out "$certs/$1.csr" &&
	    openssl x509 -req -days 2 -in "$certs/$1.csr" -CAcreateserial \
	    -CA "$certs/$3.pem" -CAkey "$certs/$3.key" \
	    -extfile <(echo "subjectAltName=$2") -out "$certs/$1.pem"
}

ok "certificates" eval 'authority ca && authority other-ca &&
	sign server IP:127.0.0.1 ca && sign client DNS:client ca &&
	sign stranger DNS:client other-ca'
scheme=https endpoints= data=
curl_as=(--cacert "$certs/ca.pem" --cert "$certs/client.pem"
    --key "$certs/client.key")
member_flags=(--unsafe-no-fsync --cert-file "$certs/server.pem" --key-file
    "$certs/server.key" --trusted-ca-file "$certs/ca.pem" --client-cert-auth)
etcd_up 1

# as_cert CA NAME
as_cert() {
	export LEASEHOLD_SHIMD_CA_FILE=$certs/$1.pem
	export LEASEHOLD_SHIMD_CERT_FILE=$certs/$2.pem
	export LEASEHOLD_SHIMD_KEY_FILE=$certs/$2.key
}

as_cert other-ca client
host_away 4
until_true 5000 logged 4 "certificate"
refused_with "certificate" 4 "the member's certificate is not believed"
as_cert ca stranger
host_away 5
until_true 5000 logged 5 "certificate"
refused_with "certificate" 5 "ours is not believed"
as_cert ca client
host 6
run lh_on 6 run -n cluster:k true
is "$status" 0 "both are"
finish
