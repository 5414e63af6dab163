#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 20
# etcd that is there and refuses changes: its quota is used up, and later that
# users must have names.  A command that wants a key says what etcd does, the
# metric "store" is 2, and the log says it, once.  When it is over, all goes on.
#
# Otherwise an operator would look for a network fault, because "the cluster did
# not answer in time", and everything else said that it is reachable.
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 8000)
member_flags+=(--quota-backend-bytes 8388608)
etcd_up 1
host 1

ctl() {
	ETCDCTL_API=3 etcdctl --endpoints "$endpoints" "$@" 2>&1
}

store_is() {
	lh_on 1 stats --shim | grep -q "^leasehold_shim_store[ {].*$1\$"
}

run lh_on 1 run -n cluster:k true
is "$status" 0 "a key"
ok "the store is reachable" store_is 1
head -c 900000 /dev/zero | tr '\0' x >"$dir/fill"
full() {
	ctl put "fill$((n++))" <"$dir/fill" | grep -q "space exceeded"
}
n=0
ok "the quota is used up" until_true 20000 full
ok "the shim notices" until_true 10000 logged 1 "refuses changes"
refused_with "database space exceeded" 1 "the quota" 69 cluster:other
ok "the store refuses" store_is 2
is "$(grep -c "refuses changes" "$dir/1/log")" 1 "it is logged once"

revision=$(ctl get fill0 -w json | jq .header.revision)
ok "room is made" eval 'ctl del --prefix fill && ctl compact "$revision" &&
	ctl defrag && ctl alarm disarm'
goes_on() {
	lh_on 1 run -n cluster:other true
}
ok "the key can be acquired again" until_true 20000 goes_on
ok "the store is reachable" until_true 10000 store_is 1
ok "  which is logged" until_true 5000 logged 1 "accepts changes again"

# (etcd asks only for a user's name: this shim has none)
ok "users must have names" eval 'ctl user add root:r &&
	ctl user grant-role root root && ctl auth enable'
ok "the shim notices" until_true 10000 logged 1 "user name is empty"
ok "the store refuses" until_true 5000 store_is 2
run lh_on 1 run -w 5s cluster:another true
is "$status" 69 "a key: 69"
like "$err" "user name is empty" "  and why"
finish
