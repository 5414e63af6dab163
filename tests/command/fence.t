#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G2, scope local when the disk fails: each fault has its exit status,
# a message that names the file and the remedy, and no token is given twice.
#
# Otherwise a token could be given again after a crash.
. "$(dirname "$0")/lib.sh"
table fence

fences=$dir/state
trap 'clean; rm -f "$floor"' EXIT
floor=/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.floor
ranges=$fences/leasehold.$(id -u).$LEASEHOLD_TABLE.fence
printed='echo $((LEASEHOLD_FENCE >> 32))'

# of the files there
highest() {
	# shellcheck disable=SC2012
	ls "$ranges" | grep -E '^[0-9]+$' | sort -n | tail -n 1
}

# Let the next who opens the table claim: others have claimed meanwhile, and the
# table's own file is lost.
others_claimed() {
	local end

	end=$(lh stats --json | jq -r .token_durable)
	: >"$ranges/$(($(highest) + 1))"
	rm -f "$ranges/$(((end >> 32) - 1))"
}

# faulty INJECTION COMMAND...
faulty() {
	local what=$1

	shift
	strace -q -o /dev/null -e "inject=$what" "$@"
}

make_table() {
	lh init --no-clock-floor --fence-dir "$fences" "$@"
}

# fails_with STATUS NAME PART...: the last run; no range was given.
fails_with() {
	local wanted=$1 name=$2 part

	shift 2
	is "$status" "$wanted" "$name: $wanted"
	for part in "$@"; do
		like "$err" "$part" "  says: $part"
	done
	is "$out" "" "  and nothing is run"
}

# After a fault: the table is there and grants above all that was burnt.
goes_on() {
	local before

	before=$(highest)
	run lh run --scope local k sh -c "$printed"
	is "$status" 0 "  afterwards it is granted"
	ok "  in a range above ($out > $before)" test "$out" -gt "$before"
}

run make_table
is "$status" 0 "a table with a fence file"
like "$out" "$fences" "  which says where"
run lh run --scope local k sh -c "$printed"
is "$status/$out" "0/1" "  grants from its first range"
run lh stats --json
is "$(jq -r .fence_dir <<<"$out")" "$fences" "  stats tell where it is"

is "$(jq -r .fence <<<"$out")" there "  and that the range is there"

# Its files are lost, and then their directory: stats and fsck tell, whoever
# looks first.
rm -f "$ranges"/*
run lh stats
like "$out" "files of the fence directory were lost" "lost files: stats tells"
run lh stats --json
is "$(jq -r .fence <<<"$out")" there "  the next time all is well again"
rm -f "$ranges"/*
run lh fsck
is "$status" 0 "  fsck: sound, since another range is claimed"
like "$err" "files of the fence directory were lost" "  but it warns"
mv "$ranges" "$dir/away"
run lh stats
like "$out" "is missing in the fence directory" "the directory is lost: stats"
is "$(lh stats --json | jq -r .fence)" lost "  also in JSON"
run lh fsck
is "$status" 71 "  fsck: sound, but the directory cannot be used"
mv "$dir/away" "$ranges"

# A fault once: another number is taken, and nobody notices.  The one that was
# not synced for certain is not used.
for call in fdatasync fsync; do
	others_claimed
	burnt=$(($(highest) + 1))
	run faulty "$call:error=EIO:when=1" \
	    "$LEASEHOLD" run --scope local k sh -c "$printed"
	is "$status" 0 "$call fails once: granted"
	is "$out" $((burnt + 1)) "  and range $burnt is not used"
done
others_claimed
burnt=$(($(highest) + 1))
run faulty "fsync:error=EIO:when=1..2" \
    "$LEASEHOLD" run --scope local k sh -c "$printed"
is "$status/$out" "0/$((burnt + 2))" "fsync fails twice: nor are two"

# Faults that stay.
for call in fdatasync fsync; do
	others_claimed
	run faulty "$call:error=EIO" "$LEASEHOLD" run --scope local k true
	fails_with 71 "$call always fails" "$ranges" "Input/output error" \
	    "another fence directory"
	run faulty "$call:error=EIO" "$LEASEHOLD" run j true
	is "$status" 0 "  other keys go on (ephemeral)"
	goes_on
done

others_claimed
run faulty "pwrite64:retval=100" "$LEASEHOLD" run --scope local k true
fails_with 71 "a short write" "$ranges" "only 100 of 512 bytes" "free some space"
goes_on

for error in ENOSPC EDQUOT; do
	others_claimed
	run faulty "pwrite64:error=$error" \
	    "$LEASEHOLD" run --scope local k true
	fails_with 71 "$error" "$ranges" "free some space"
	goes_on
done

others_claimed
run faulty "linkat:error=EMLINK" "$LEASEHOLD" run --scope local k true
fails_with 71 "a link that cannot be made" "$ranges" "Too many links"
goes_on

others_claimed
run faulty "getdents64:error=EIO" "$LEASEHOLD" run --scope local k true
fails_with 71 "a directory that cannot be read" "$ranges" "Input/output error"
goes_on

run bash -c 'ls "$1" | grep -c "^new\."' - "$ranges"
is "$out" 0 "no temporary file was left behind"

# The end of a file size limit is an error, not a signal.
others_claimed
run bash -c '(ulimit -f 0; exec "$LEASEHOLD" run --scope local k true) 2>&1 |
    cat >&2; exit "${PIPESTATUS[0]}"'
fails_with 71 "ulimit -f 0" "$ranges" "ulimit -f"
goes_on

# A damaged file: its number counts, another range is claimed.
last=$(highest)
was=$(od -An -tu1 -j20 -N1 "$ranges/$last")
# shellcheck disable=SC2059
printf "\\x$(printf '%02x' $((was ^ 255)))" |
    dd of="$ranges/$last" bs=1 seek=20 conv=notrunc status=none
run lh run --scope local k sh -c "$printed"
is "$status/$out" "0/$((last + 1))" "the latest file is damaged: another range"
: >"$ranges/$(highest)"
last=$(highest)
run lh run --scope local k sh -c "$printed"
is "$status/$out" "0/$((last + 1))" "it is empty: another range"

# The directory is gone.
cp -a "$ranges" "$dir/backup"
rm -rf "$ranges"
run lh run --scope local k true
fails_with 71 "the directory is missing" "$ranges" "restore it from a backup"
ok "  it is not made behind your back" test ! -e "$ranges"
run lh run j true
is "$status" 0 "  other keys go on (ephemeral)"
run lh run k true
is "$status" 0 "  and a key that was local, within the range that it has"
: >"$ranges"
run lh run --scope local k true
fails_with 71 "a file has its place" "$ranges" "is no directory"
rm -f "$ranges"
ln -s "$dir/backup" "$ranges"
run lh run --scope local k true
fails_with 71 "a link has its place" "$ranges" "is no directory"
rm -f "$ranges"
cp -a "$dir/backup" "$ranges"
others_claimed
goes_on

# Not the owner, or everybody's.
chmod 777 "$ranges"
others_claimed
run lh run --scope local k true
fails_with 71 "everybody may write there" "$ranges" "not be writable by others"
chmod 700 "$ranges"
goes_on

if [ "$(id -u)" = 0 ]; then
	# read-only, in a mount namespace of its own
	others_claimed
	if unshare -m true 2>/dev/null; then
		run unshare -m bash -c 'mount --bind "$0" "$0" &&
		    mount -o remount,ro,bind "$0" &&
		    exec "$LEASEHOLD" run --scope local k true' "$ranges"
		fails_with 71 "a read-only file system" "$ranges" \
		    "mount it writable"
		goes_on
		run unshare -m bash -c 'LEASEHOLD_TABLE+=.ro
		    mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" &&
		    exec "$LEASEHOLD" init --fence-dir "$0"' "$fences"
		is "$status" 73 "  no table is made there: 73"
		like "$err" "$fences" "  says where"
		ok "  none is there" test ! -e "$(object).ro"
	else
		skip "no mount namespaces" "a read-only file system"
	fi
	# another user, who may use the table but not the directory
	lh rm
	lh init --system --mode 666 --no-clock-floor \
	    --fence-dir "$fences" >/dev/null
	chmod 755 "$dir" "$fences"
	like "$(ls "$fences")" "leasehold.system.$LEASEHOLD_TABLE.fence" \
	    "a system table has its own"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$LEASEHOLD" \
	    run --system --scope local k true
	fails_with 71 "another user, without permission" \
	    "$fences/leasehold.system" "write permission"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$LEASEHOLD" \
	    run --system j true
	is "$status" 0 "  is granted what is ephemeral"
	lh rm --system
	rm -f "/dev/shm/leasehold.system/$LEASEHOLD_TABLE.floor"
else
	skip "not root" "a read-only file system, another user"
	lh rm
fi

# Faults when a table is made: it is not made.
run faulty "fsync:error=EIO" "$LEASEHOLD" init --fence-dir "$fences"
is "$status" 71 "fsync always fails, init: 71"
like "$err" "sync the directory $dir" "  says where"
like "$err" "another fence directory" "  and what to do"
ok "  no table is there" test ! -e "$(object)"
run faulty "fdatasync:error=EIO" "$LEASEHOLD" init --fence-dir "$fences"
is "$status" 71 "fdatasync always fails, init: 71"
ok "  no table is there" test ! -e "$(object)"
run faulty "pwrite64:error=ENOSPC" "$LEASEHOLD" init --fence-dir "$fences"
is "$status" 73 "no room, init: 73"
like "$err" "free some space" "  says what to do"
run lh init --fence-dir /proc/leasehold
isnt "$status" 0 "where no directory can be made: refused"
like "$err" "/proc/leasehold" "  says where"
run lh init --fence-dir "relative/path"
is "$status" 64 "a relative path: 64"
last=$(highest)
run make_table
is "$status" 0 "then it is made"
run lh run --scope local k sh -c "$printed"
ok "  above all that was burnt ($out > $last)" test "$out" -gt "$last"

# No fence file at all.
lh rm
run lh run --scope local k true
isnt "$status" 0 "a table without a fence file: scope local is refused"
like "$err" "fence" "  says why"
run lh run k true
is "$status" 0 "  ephemeral is not"

finish
