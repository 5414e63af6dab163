#!/bin/bash
# SPDX-License-Identifier: MIT
# A lock of etcdctl among our claims: a shim does not start while it stands there,
# and says so of one that comes later; a lock elsewhere can be taken beside a key.
watch_s=200
. "$(dirname "$0")/lib.sh"
must_run /usr/bin/etcdctl
export ETCDCTL_API=3
etcd_up 1
host 1

run lh_on 1 run cluster:k etcdctl --endpoints "$endpoints" lock other/k true
is "$status" 0 "a key, and a lock of etcd's within it"

# lock NAME: somebody has it
lock() {
	bg etcdctl --endpoints "$endpoints" lock "$1" sleep 60
	locker=$pid
	until_true 5000 locked "$1"
}
locked() {
	keys_in_etcd | grep -q "^$1/"
}

lock leasehold/q/nightly
ok "one that comes later: the log says so" until_true 5000 \
    grep -q 'leasehold/q/nightly/.*is a lock of another program' "$dir/1/log"
kill -TERM "${shims[1]}"
ended "${shims[1]}"
shim 1
ended "${shims[1]}"
is "$status" 69 "a shim does not start beside it: 69"
like "$(tail -n 1 "$dir/1/log")" "leasehold/q/nightly/" "  and names it"
# etcdctl unlocks when its command has ended; it ignores the signal until then
pkill -TERM -P "$locker"
ended "$locker"
until_true 10000 eval '! locked leasehold/q/nightly'
shim 1
ok "it is gone: a shim starts" until_true 10000 lh_on 1 run -n cluster:k true
finish
