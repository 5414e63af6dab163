#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G3: a time namespace that ended gives its inode number to the next one,
# whose clocks may differ.  A table of the first is refused there.  Where the
# offsets are the same as well, so are the clocks, and it can be used.
#
# Otherwise leases would seem to have expired, and have second holders, or would
# last for days.
if [ "$(id -u)" != 0 ] || ! unshare -T true 2>/dev/null; then
	echo "1..0 # SKIP needs root, and time namespaces"
	exit 0
fi
. "$(dirname "$0")/lib.sh"

# ahead SECONDS COMMAND...: in a time namespace that is so far ahead
# shellcheck disable=SC2317
ahead() {
	local s=$1

	shift
	unshare -T --monotonic "$s" --boottime "$s" "$@"
}

# same COMMAND...: in one that has the table's offsets, and its number as well
# (other tests, beside this one, may have the number for seconds: then again)
same() {
	for ((i = 0; i < 300; i++)); do
		# shellcheck disable=SC2016
		run ahead 5000 bash -c 'stat -Lc %i /proc/self/ns/time >"$0"
		    exec "$@"' "$dir/number" "$@"
		[ "$status" = 65 ] || break
		sleep 0.1
	done
}

# same_is STATUS NAME: same has that status; if it never got the number, because
# others have had it all the time, nothing can be said
same_is() {
	if [ "$status" = 65 ] && [ "$(cat "$dir/number")" != "$first" ]; then
		skip "the number went to others" "$2"
	else
		is "$status" "$1" "$2"
	fi
}

table time
run ahead 5000 "$LEASEHOLD" session open --ttl 60s s
is "$status" 0 "a session in one time namespace"
# shellcheck disable=SC2016
same bash -c '"$LEASEHOLD" acquire --session s k >/dev/null &&
    stat -Lc %i /proc/self/ns/time'
is "$status" 0 "  acquires a key, from another with the same offsets: $err"
first=$out
for far in 100000 -4000 0; do
	# (others may take the number)
	for ((i = 0; i < 50; i++)); do
		# shellcheck disable=SC2016
		run ahead $far bash -c '"$LEASEHOLD" run -n k true 2>&1
		    echo $? $(stat -Lc %i /proc/self/ns/time)'
		[[ $out != *" $first" ]] || break
	done
	if [[ $out != *" $first" ]]; then
		skip "the number went to others" "one that is $far s ahead"
		continue
	fi
	like "$out" "another time namespace" \
	    "one of the same number, $far s ahead, is refused"
	like "$out" "65 $first" "  with 65"
done
run lh run -n k true
is "$status" 65 "so is the machine's own"
same "$LEASEHOLD" run -n k true
same_is 75 "with the same offsets the key is held"
same "$LEASEHOLD" rm --force
same_is 0 "and the table can be removed"
finish
