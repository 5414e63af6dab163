#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold dump` prints a table, or a copy of one, and changes nothing.
#
# Otherwise a look at a broken table would destroy what it shows.
. "$(dirname "$0")/lib.sh"
table dump
image=$dir/image

run lh dump
is "$status" 1 "dump without a table: 1"
ok "  and makes none" test ! -e "$(object)"
run lh dump "$image"
is "$status" 1 "dump of a file that is not there: 1"
like "$err" "$image" "  says so"

lh init --keys 1000 --sessions 3 --leases 1024 --order fifo >/dev/null
bg "$LEASEHOLD" run --ttl 60s nightly sleep 150
holder=$pid
until_true 5000 is_held nightly
bg "$LEASEHOLD" run -s shared sleep 150
reader=$pid
until_true 5000 is_held shared
long=$(printf 'long%.0s' {1..50})
lh run "$long" true
bg "$LEASEHOLD" run --priority 7 nightly true
waiter=$pid
# every session is taken: nobody else can look
waits() {
	lh dump | grep -q "waiter 1"
}
until_true 5000 waits

run lh dump
is "$status" 0 "dump, every session being taken: 0"
like "$out" "table     $(object)" "  the table"
like "$out" "order     fifo" "  its order"
# its number is left to chance: who looked (is_held) took one, too
like "$out" "  alive, sleep[$holder], uid $(id -u)" "  a session"
like "$out" "key nightly, held, token" "  a key"
like "$out" "  holder    sleep[$holder], uid $(id -u), exclusive, since" \
    "  its holder"
like "$out" "  waiter 1  true[$waiter]" "  who waits"
like "$out" "  holder    sleep[$reader], uid $(id -u), shared" "  a reader"
like "$out" "key $long, free" "  a long key, free"

run lh dump --json
told=$(now_ms)
is "$status" 0 "dump --json: 0"
json=$out
is "$(jq -c '[.table.path, .table.order, .table.max_sessions, .table.damaged,
    .table.retired, .findings]' <<<"$json")" \
    "[\"$(object)\",\"fifo\",3,false,false,[]]" "  the table"
is "$(jq -c '[.sessions[] | .state] | unique' <<<"$json")" '["alive"]' \
    "  sessions alive"
is "$(jq -c '[.sessions[].pid] | sort' <<<"$json")" \
    "$(printf '%s\n' "$holder" "$reader" "$waiter" | sort -n | jq -sc .)" \
    "  all of them"
is "$(jq -c '[.keys[].key] | sort' <<<"$json")" \
    "[\"$long\",\"nightly\",\"shared\"]" "  keys"
is "$(jq -c '.keys[] | select(.key == "nightly") | [.state, .holders[0].pid,
    .waiters[0].pid, .waiters[0].priority]' <<<"$json")" \
    "[\"held\",$holder,$waiter,7]" "  holder and waiter"
is "$(jq -c '[.table.token_base, .keys[0].token, .keys[0].word,
    .sessions[0].id] | map(type) | unique' <<<"$json")" '["string"]' \
    "  64 bits are strings"
between $(($(jq -r '.keys[] | select(.key == "nightly") |
    .holders[0].expires_ms' <<<"$json") - told)) 30000 61000 \
    "  the deadline, since 1970"

# An image is what the table was, for ever, and needs reading only.
cp --sparse=always "$(object)" "$image"
chmod 400 "$image"
sum=$(sha256sum <"$image")
run lh dump --json "$image"
is "$status" 0 "dump of an image: 0"
is "$(jq -c '[.sessions, [.keys[] | del(.table, .holders[].expires_ms)]]' \
    <<<"$out")" \
    "$(jq -c '[.sessions, [.keys[] | del(.table, .holders[].expires_ms)]]' \
    <<<"$json")" "  says what the table said"
run lh dump "$image"
like "$out" "table     $image" "  where it is"
is "$(sha256sum <"$image")" "$sum" "  and is not changed"
chmod 600 "$image"

# The table itself goes on.
is "$(lh dump | grep -c '^session')" 3 "the table: unchanged, too"
kill -TERM "$waiter"
ended "$waiter"
kill -KILL "$holder" "$reader"
ended "$holder"
run lh fsck
is "$status" 0 "  and sound"

# u64 OFFSET: of the image
u64() {
	od -An -t u8 -j "$1" -N 8 "$image" | tr -d ' '
}
poke() {	# poke OFFSET BYTES
	printf "$2" | dd of="$image" bs=1 seek="$1" conv=notrunc status=none
}
page() {
	echo $((($1 + 4095) / 4096 * 4096))
}
# Where the arrays of this table are (doc/format.md).
sessions=4096
chunks=$((sessions + $(page $((3 * 512)))))
claims=$((chunks + $(page $((17 * 32)))))
buckets=$((claims + $(page $((17 * 64 * 64)))))
slots=$((buckets + $(page $((1024 * 8)))))
cp "$image" "$dir/sound"
damaged() {	# damaged OFFSET BYTES PART
	cp "$dir/sound" "$image"
	poke "$1" "$2"
	run lh dump "$image"
	is "$status" 65 "damaged: 65"
	like "$err" "$3" "  says where: $3"
}
damaged $((sessions + 512 + 7)) '\143' "session 1 is in no known state (99)"
damaged $((chunks + 32)) '\376\377' "chunk 1 belongs to session 65534 of 3"
damaged $((claims + 64 * 64 + 4)) '\300\1' "claim 64 is in no known state (7)"
damaged $((slots + 128)) '\377\377\277' "slot 1 is held by claim 4194303"
damaged $((slots + 128 + 96)) 'X' "slot 1 has a key that does not hash"
damaged $((slots + 128 + 8)) '\376\377\377\377' "the queue of slot 1 cannot be"
damaged $((slots + 128 + 36)) '\377\377\377' "cannot be walked"
damaged 64 '\7' "header"
damaged 0 'x' "is not a leasehold table"
run lh dump --json "$image"
is "$status" 65 "no table, as JSON: 65"
cp "$dir/sound" "$image"
poke $((sessions + 7)) '\143'
run lh dump --json "$image"
is "$status$(jq -c .findings <<<"$out")" \
    '65["session 0 is in no known state (99)"]' "findings as JSON"
cp "$dir/sound" "$image"
truncate -s -4096 "$image"
run lh dump "$image"
is "$status" 65 "cut short: 65"
like "$err" "truncated" "  says so"
mkfifo "$dir/fifo"
run lh dump "$dir/fifo"
is "$status" 65 "a fifo: 65"
run lh dump "$dir"
is "$status" 65 "a directory: 65"

# A copy of another boot, whose clock began anew since: a time namespace has such
# a clock.  Ours is behind the copy's, and ahead of it.
other_boot() {	# SECONDS: $image, made where the clock is so far ahead
	# shellcheck disable=SC2016
	image=$image unshare -m -T --monotonic "$1" --boottime "$1" bash -c '
	    mount -t tmpfs -o mode=1777 none /dev/shm || exit
	    "$LEASEHOLD" session open --ttl 30s named >/dev/null &&
	    "$LEASEHOLD" acquire --session named k >/dev/null && rm -f "$image" &&
	    cp --sparse=always "/dev/shm/leasehold.0/$LEASEHOLD_TABLE.table" \
	    "$image"'
}
for ahead in 100000 -1; do
	if ! other_boot "$ahead" 2>"$dir/why"; then
		skip "no such time namespace: $(cat "$dir/why")" "another boot"
		continue
	fi
	run lh dump "$image"
	is "$status" 0 "a sound copy whose clock is $ahead s ahead: 0"
	is "$err" "" "  without a finding"
	like "$out" "of another boot or time namespace" "  and says whose clock"
	like "$out" "session named" "  the session is in it"
	run lh dump --json "$image"
	is "$(jq -c '[.table.other_boot, .findings]' <<<"$out")" "[true,[]]" \
	    "  JSON says so"
done
lh session open --ttl 30s named >/dev/null
rm -f "$image"
cp --sparse=always "$(object)" "$image"
run lh dump --json "$image"
is "$status $(jq -c .table.other_boot <<<"$out")" "0 false" \
    "a copy of this boot is checked by the clock"

# Any bits: an answer, and no signal (G12).
RANDOM=4711
bad=
for i in $(seq 30); do
	cp "$dir/sound" "$image"
	for _ in 1 2 3; do
		case $((RANDOM % 5)) in
		0) at=$((128 + RANDOM % 512)) ;;
		1) at=$((sessions + RANDOM % 768)) ;;
		2) at=$((chunks + RANDOM % 272)) ;;
		3) at=$((claims + 4096 + RANDOM % 8192)) ;;
		*) at=$((slots + 128 + RANDOM % 384)) ;;
		esac
		poke "$at" "\\$(printf %o $((RANDOM % 256)))"
	done
	timeout 20 "$LEASEHOLD" dump --json "$image" >"$dir/json" 2>/dev/null
	s=$?
	[ $s = 0 ] || [ $s = 65 ] || bad+=" $i:$s"
done
is "$bad" "" "thirty images with changed bytes: 0 or 65 each"

run lh dump a b
is "$status" 64 "a file too many: 64"
run lh dump --table x "$image"
is "$status" 64 "a file and a table: 64"

finish
