#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G12: a table whose fence directory cannot be used is sound.
# `leasehold fsck` and its repair agree, name the directory, and change nothing.
#
# Otherwise an operator would remove a sound table, or a repair would destroy it.
. "$(dirname "$0")/lib.sh"
table fsck-fence

fences=$dir/state
trap 'clean; rm -f "$floor"' EXIT
floor=/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.floor
ranges=$fences/leasehold.$(id -u).$LEASEHOLD_TABLE.fence

# limited ARGUMENT...: the command may write no file
limited() {
	run bash -c 'set -o pipefail
	    { (ulimit -f 0; exec "$LEASEHOLD" "$@" 3>&-) 2>&1 >&3 | cat >&2
	    } 3>&1 | cat' - "$@"
}

# read_only ARGUMENT...: an empty read-only disk is in the directory's place
read_only() {
	run unshare -m bash -c 'mount -t tmpfs -o mode=755 tmpfs "$0" &&
	    mkdir -m 700 "$0/$1" && mount -o remount,ro "$0" && shift &&
	    exec "$LEASEHOLD" "$@"' "$fences" "${ranges##*/}" "$@"
}

# plainly ARGUMENT...: the command itself
plainly() {
	run lh "$@"
}

# unusable HOW NAME REMEDY: HOW runs the command without the directory
unusable() {
	local how=$1 name=$2 remedy=$3 verb sum

	"$how" run k true
	is "$status" 0 "$name: an ephemeral lease is granted"
	"$how" run --scope local k true
	is "$status" 71 "  one in scope local is not"
	for verb in fsck "fsck --repair --dry-run" "fsck --repair"; do
		# shellcheck disable=SC2086 # words
		"$how" $verb
		is "$status" 71 "  $verb: 71"
		like "$err" "is sound, but" "    the table is sound"
		like "$err" "$ranges" "    names the directory"
		like "$err" "$remedy" "    and the remedy"
		ok "    no damage" test "${err/damaged/}" = "$err"
	done
	"$how" fsck --json
	is "$status$(jq -c '[.sound,.findings]' <<<"$out")" '71[true,[]]' \
	    "  as JSON"
	like "$(jq -r .fence_error <<<"$out")" "$ranges" \
	    "    names the directory"

	# with real damage: the session in no known state of fsck.t
	poke 1
	sum=$(sha256sum <"$(object)")
	for verb in "fsck --repair --dry-run" "fsck --repair"; do
		# shellcheck disable=SC2086 # words
		"$how" $verb
		is "$status" 71 "  $verb of a damaged table: 71"
		like "$out" "session 15 is in no known state" "    says of what"
		like "$err" "is damaged, and is not repaired" "    refused"
		like "$err" "$remedy" "    and the remedy"
	done
	is "$(sha256sum <"$(object)")" "$sum" "  the table was not changed"
	"$how" fsck
	is "$status" 65 "  fsck of a damaged table: 65"
	poke 0
	"$how" run k true
	is "$status" 0 "  ephemeral leases are still granted"
}

# poke DAMAGED: session 15's state is none, or is again what it was
poke() {
	if [ "$1" = 1 ]; then
		printf '\143'
	else
		printf '\0'
	fi | dd of="$(object)" bs=1 seek=$((4096 + 15 * 512 + 7)) \
	    conv=notrunc status=none
}

lh init --keys 100 --sessions 16 --leases 1024 --fence-dir "$fences" \
    >/dev/null
token=$(lh run --scope local k sh -c 'echo $LEASEHOLD_FENCE')

# above: what follows is granted durable tokens above all earlier ones
above() {
	local last=$token

	run lh fsck
	is "$status" 0 "$1: sound"
	run lh fsck --repair
	is "$status" 0 "  and needs no repair"
	token=$(lh run --scope local k sh -c 'echo $LEASEHOLD_FENCE')
	ok "  tokens go on above" test "$token" -gt "$last"
}

rm -f "$ranges"/*
unusable limited "files lost, and none can be written" "ulimit -f"
above "with the limit gone"

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	unusable read_only "an empty read-only disk" "mount it writable"
	above "with the disk back"
else
	skip "not root, or no mount namespaces" "an empty read-only disk"
fi

# The latest range is there, and no other can be claimed.
still_there() {
	local how=$1 name=$2 remedy=$3 verb

	"$how" run --scope local k true
	is "$status" 0 "$name: a lease in scope local is granted"
	for verb in fsck "fsck --repair --dry-run" "fsck --repair"; do
		# shellcheck disable=SC2086 # words
		"$how" $verb
		is "$status" 71 "  $verb: 71"
		like "$err" "when the present range of tokens is used up" \
		    "    what will fail, and when"
		like "$err" "$ranges" "    names the directory"
		like "$err" "$remedy" "    and the remedy"
	done
	"$how" fsck --json
	is "$status$(jq -c '[.sound,.findings]' <<<"$out")" '71[true,[]]' \
	    "  as JSON"
}

# read_only_there ARGUMENT...: the disk is read-only
read_only_there() {
	run unshare -m bash -c 'mount --bind "$0" "$0" &&
	    mount -o remount,bind,ro "$0" && exec "$LEASEHOLD" "$@"' \
	    "$fences" "$@"
}

# not_permitted ARGUMENT...: as a user whom permissions stop
not_permitted() {
	run setpriv --bounding-set -dac_override "$LEASEHOLD" "$@"
}

lh run --scope local k true
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	still_there read_only_there "a read-only disk" "mount it writable"
	above "with the disk writable"
	chmod 555 "$ranges"
	still_there not_permitted "no permission" "write permission"
	chmod 700 "$ranges"
	above "with the permission"
else
	skip "not root, or no mount namespaces" "a read-only disk"
fi

mv "$ranges" "$dir/away"
unusable plainly "the directory is missing" "restore it from a backup"
mv "$dir/away" "$ranges"
above "with the directory back"

# A repair of a damaged table whose files were lost: it can write others.
rm -f "$ranges"/*
poke 1
run lh fsck --repair
is "$status" 0 "a damaged table whose files were lost is repaired"
above "afterwards"
finish
