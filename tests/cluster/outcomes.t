#!/bin/bash
# SPDX-License-Identifier: MIT
# Events in the cluster, as the user of a command sees them.  It is away from the
# start, or while a key is held or waited for.  It is put back to an older
# snapshot, or is another cluster.  Its past is compacted while it is watched.
watch_s=300
. "$(dirname "$0")/faults.sh"
ttl_ms=$(t_ms 2000)

# away from the start: a shim, and nothing where the cluster should be
free_ports 2
ports=$free
endpoints=http://127.0.0.1:${ports% *}
host_away 1
refused_with "refused" 1 "away from the start"
until_true 5000 logged 1 "the cluster is unreachable"
endpoints=
etcd_up 1
ports=
ok "it comes: the key is granted" until_true 15000 \
    lh_on 1 run -n cluster:k true
host 2
reaper 1
reaper 2

# held, and waited for on the other host
bg env LEASEHOLD_TABLE="${table[1]}" bash -c \
    '"$LEASEHOLD" run cluster:k sh -c "sleep 60" 2>"$0"' "$dir/held"
holder=$pid
until_true 5000 is_held_on 1 cluster:k
bg env LEASEHOLD_TABLE="${table[2]}" bash -c \
    '"$LEASEHOLD" run -w 60s cluster:k true 2>"$0"' "$dir/waited"
waiter=$pid
nap 300
kill -STOP "${members[1]}"
ended "$holder"
is "$status" 76 "held, and the cluster goes: lost, 76"
like "$(cat "$dir/held")" "cluster" "  says why"
diag "$(cat "$dir/held")"
ended "$waiter"
is "$status" 69 "waited for, and the cluster goes: 69, not busy"
like "$(cat "$dir/waited")" "cluster" "  says why"
diag "$(cat "$dir/waited")"
kill -CONT "${members[1]}"
for i in 1 2; do
	ok "host $i goes on" until_true 15000 lh_on $i run -n "cluster:$i" true
done

# each key is free, and so each try succeeds
busy=0
for ((n = 0; n < 40; n++)); do
	lh_on 1 run -n "cluster:free$n" true || busy=$((busy + 1))
done
is $busy 0 "a try of a free key: forty of forty have it"

# revision: of the cluster
revision() {
	[[ $(ask 1 v3/kv/range -d '{"key":"AA=="}') =~ '"revision":"'([0-9]+) ]] &&
	    echo "${BASH_REMATCH[1]}"
}

# compaction: while it is watched, and while a shim is stopped
compact() {
	[[ $(ask 1 v3/kv/compaction -d "{\"revision\":$(revision)}") == \
	    *'"header":{'* ]]
}

for i in 1 1 2 2; do
	contend $i 5
done
compacted=0
for ((n = 0; n < 20; n++)); do
	compact && compacted=$((compacted + 1))
	nap 50
done
kill -STOP "${shims[2]}"
nap $((ttl_ms / 4))
compact && compacted=$((compacted + 1))
kill -CONT "${shims[2]}"
ok "compacted" test "$compacted" -gt 10
judged 1000 "compacted while it is watched"
for i in 1 2; do
	run lh_on $i run -w 5s cluster:gate true
	is "$status" 0 "host $i has the key"
done

# another cluster: members are mixed up
cp "$dir/1/${table[1]}.state" "$dir/state"
first=("${members[1]}" "${client[1]}" "${peer[1]}" "$initial" "$data")
right=$endpoints
endpoints= data=
etcd_up 1
other=$data
wrong=$endpoints
kill -TERM "${shims[1]}"
ended "${shims[1]}"
endpoints=$wrong
shim 1
until_true 10000 logged 1 "another cluster"
refused_with "another cluster" 1 "another cluster"
kill -KILL "${shims[1]}" "${members[1]}"
rm -rf "$other"
members[1]=${first[0]} client[1]=${first[1]} peer[1]=${first[2]}
initial=${first[3]} data=${first[4]} endpoints=$right
shim 1
ok "the right one again: the key is granted" until_true 15000 \
    lh_on 1 run -n cluster:k true

# a snapshot, and what comes after it; then it is put back to that
ctl() {
	ETCDCTL_API=3 etcdctl --endpoints "$endpoints" "$@" >/dev/null 2>&1
}

ok "a snapshot is taken" ctl snapshot save "$dir/snapshot"
for i in 1 2 1 2; do
	run lh_on $i run -w 5s cluster:k sh -c 'echo $LEASEHOLD_FENCE'
done
before=$out
# marked: the revision that host 1's state file has
marked() {
	sed -n 's/^revision //p' "$dir/1/${table[1]}.state"
}
# it is written now and then, with what was seen until then
now=$(revision)
until_true 10000 eval '[ "$(marked)" -ge "$now" ]'
kill -KILL "${members[1]}"
ended "${members[1]}"
rm -rf "${data:?}/1"
ctl snapshot restore "$dir/snapshot" --name n1 --data-dir "$data/1" \
    --initial-cluster "$initial" --initial-cluster-token "t$$" \
    --initial-advertise-peer-urls "http://127.0.0.1:${peer[1]}"
member 1
until_true 10000 answers 1
ok "put back to it: the shim sees it" until_true 10000 logged 1 \
    "older than before"
refused_with "older than before" 1 "put back to a snapshot"
kill -KILL "${shims[1]}"
ended "${shims[1]}"
back=$(grep -cF "older than before" "$dir/1/log")
shim 1
until_true 10000 eval '[ "$(grep -cF "older than before" "$dir/1/log")" -gt \
    "$back" ]'
refused_with "older than before" 1 "the shim is started again"
# the way out that keeps tokens rising: its revision is raised
raised() {
	ask 1 'v3/kv/put#[1-200]' -d '{"key":"eA=="}'	# so often
	[ "$(revision)" -gt "$(marked)" ]
}
until_true 20000 raised
kill -KILL "${shims[1]}"
nap 100
shim 1
ok "its revision is raised: the key is granted" until_true 20000 \
    lh_on 1 run -n cluster:k true
run lh_on 1 run -w 5s cluster:k sh -c 'echo $LEASEHOLD_FENCE'
ok "  with a larger token than before" test "$out" -gt "$before"
finish
