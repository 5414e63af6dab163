#!/bin/bash
# SPDX-License-Identifier: MIT
# What an operator reads in places that are short of something: a limit of open
# files, inodes, a writable /dev/shm; of a key that nobody may acquire yet; and
# of a holder in another pid namespace.
#
# Otherwise the operator would look for the cause in the wrong place.
. "$(dirname "$0")/lib.sh"
table refusals

run bash -c 'ulimit -n 10; exec "$LEASEHOLD" run k true'
is "$status" 71 "ulimit -n 10: 71"
like "$err" "ulimit -n" "  names the limit"
like "$err" "too many open files" "  and what is wrong"

brief() {
	lh session open --ttl "$(t_ms 500)ms" --lock-delay 60s brief &&
	    lh acquire --session brief disk
} >/dev/null
brief
delayed() { lh list disk | grep -q delayed; }
ok "a key whose session ended uncleanly is delayed in the list" \
    until_true 10000 delayed
run lh list disk
like "$(grep disk <<<"$out" | tr -s ' ')" "s 0 -" "  with the time that is left"
run lh run -n disk true
is "$status" 75 "  and a run does not get it"

if [ "$(id -u)" != 0 ] || ! unshare -mp --fork true 2>/dev/null; then
	skip "not root" "in namespaces"
	finish
	exit
fi
# shellcheck disable=SC2016
run unshare -m bash -c 'mount -t tmpfs -o nr_inodes=8 none /dev/shm
    mkdir -m 700 /dev/shm/leasehold.0 && "$LEASEHOLD" init >/dev/null
    for i in 1 2 3 4 5 6 7; do
	: >"/dev/shm/leasehold.0/f$i"
    done 2>/dev/null
    "$LEASEHOLD" rm; echo $?; rm /dev/shm/leasehold.0/f[12]
    "$LEASEHOLD" rm; echo $?'
is "$out" $'73\n0' "no inode is left: 73; two are: removed"
like "$err" "df -i /dev/shm" "  says what to look at"

# shellcheck disable=SC2016
run unshare -m bash -c 'mount -o remount,bind,ro /dev/shm /dev/shm 2>/dev/null ||
    { mount --bind /dev/shm /dev/shm && mount -o remount,bind,ro /dev/shm; }
    exec "$LEASEHOLD" run k true'
is "$status" 73 "/dev/shm is read-only: 73, it cannot be made"
like "$err" "read-only" "  says so"

# shellcheck disable=SC2016
bg unshare -p --mount-proc --fork "$LEASEHOLD" run far sleep 60
ok "a holder in another pid namespace" until_true 5000 is_held far
for verb in "list far" "status far" "explain far"; do
	# shellcheck disable=SC2086
	run lh $verb
	like "$out" "of another pid namespace" "$verb says so"
done
run lh list --json far
is "$(jq -r '.[0].holders[0].foreign' <<<"$out")" true "  as JSON"
run lh list --json disk
is "$(jq -r '.[0].holders | map(has("foreign")) | any' <<<"$out")" false \
    "  and not of others"
kill "$pid"
ended "$pid"
finish
