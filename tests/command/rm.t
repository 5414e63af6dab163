#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantees G2 and G9, `leasehold rm`: refused while the table is used, forced,
# and the next table of that name.
#
# Otherwise a removal would end jobs without a word, or let tokens begin again.
. "$(dirname "$0")/lib.sh"
table rm

floor=/dev/shm/leasehold.$(id -u)/$LEASEHOLD_TABLE.floor
trap 'clean; rm -f "$floor" "$floor".sys' EXIT

token() {
	lh run "$1" sh -c 'echo $LEASEHOLD_FENCE'
}

run lh rm
is "$status" 1 "rm without a table: 1"
like "$err" "there is no table '$LEASEHOLD_TABLE'" "  says so"
ok "  and makes none" test ! -e "$(object)"

first=$(token k)
run lh rm
is "$status" 0 "rm of a table that nobody uses: 0"
is "$out$err" "" "  without a word"
ok "  it is gone" test ! -e "$(object)"
second=$(token k)
ok "the next table's tokens are larger" test "$second" -gt "$first"
run bash -c '(ulimit -f 0; exec "$LEASEHOLD" rm) 2>&1 | cat >&2
    exit "${PIPESTATUS[0]}"'
is "$status/$err" 0/ "rm of a process that may write no file: 0"
lh init >/dev/null

# In use.
bg "$LEASEHOLD" run --ttl 60s held sleep 150
holder=$pid
until_true 5000 is_held held
bg "$LEASEHOLD" run -s reading sleep 150
reader=$pid
until_true 5000 is_held reading
inode=$(stat -c %i "$(object)")
run lh rm
is "$status" 75 "rm of a table in use: 75"
like "$err" "sleep[$holder]" "  names one"
like "$err" "sleep[$reader]" "  and the other"
like "$err" "--force" "  and what to do"
is "$(stat -c %i "$(object)")" "$inode" "  the table is there"
ok "  and in use" is_held held
run lh dump --json
is "$(jq .table.retired <<<"$out")" false "  not retired"
kill -KILL "$reader"
ended "$reader"
run lh rm
is "$status" 75 "still in use by one: 75"


# In use by what a dead process has left running: that is said so.
bg "$LEASEHOLD" run left sh -c "setsid sleep 150 & echo \$! >'$dir/left'; wait"
wrapper=$pid
until_true 5000 test -s "$dir/left"
mind "$(cat "$dir/left")"
kill -KILL "$wrapper"
ended "$wrapper"
run lh rm
is "$status" 75 "in use by what a dead process has left: 75"
like "$err" "a process left running by sh[$wrapper], which has ended" \
    "  says so"
kill -KILL "$(cat "$dir/left")"

# Forced: whoever waits there learns it at once.
forced() {
	if ! is_held held; then
		bg "$LEASEHOLD" run --ttl 60s held sleep 150
		holder=$pid
		until_true 5000 is_held held
	fi
	bg bash -c '"$LEASEHOLD" run -w 150s held true 2>"$0"' "$dir/waited"
	waiter=$pid
	until_true 5000 has_waiters held 1
	lh run free true
	before=$(now_ms)
	run lh rm --force
	is "$status" 0 "rm --force: 0"
	ok "  it is gone" test ! -e "$(object)"
	ended "$waiter"
	took=$(($(now_ms) - before))
}
in_time "$(t_ms 1000)" forced
is "$status" 69 "  who waited ends: 69"
between "$took" 0 "$(t_ms 1000)" "  soon"
like "$(cat "$dir/waited")" "removed" "  and says why"
ok "  the holder goes on" kill -0 "$holder"
third=$(token held)
ok "the new table: the key is free, with a larger token" \
    test "$third" -gt "$second"
begun "$holder"
kill -TERM "$holder"
ended "$holder"
is "$status" 143 "the old holder ends as it would have"
run lh fsck
is "$status" 0 "the new table is sound"

# What a killed process left is no hindrance.
bg "$LEASEHOLD" run --ttl 60s held sleep 150
holder=$pid
until_true 5000 is_held held
kill -KILL "$holder"
ended "$holder"
until_true 5000 lh rm
ok "the dead do not keep a table" test ! -e "$(object)"

# Whatever has the name.
echo "no table" >"$(object)"
run lh rm
is "$status" 65 "rm of what is no table: 65"
like "$err" "--force" "  says what to do"
run lh rm --force
is "$status" 0 "  forced: 0"
ok "  gone" test ! -e "$(object)"
fourth=$(token k)
ok "  and tokens go on above" test "$fourth" -gt "$third"

# A table that its owner began to remove: mark, note and flag are there, the name
# as well.
chmod +t "$(object)"
printf '\xb3\x4f\xe8\x62\x71\x5c\x3a\x9d' |
    dd of="$(object)" bs=1 seek=160 conv=notrunc status=none
printf '\2' | dd of="$(object)" bs=1 seek=128 conv=notrunc status=none
inode=$(stat -c %i "$(object)")
fifth=$(token k)
isnt "$(stat -c %i "$(object)")" "$inode" "a removal that was begun: completed"
ok "  and its tokens are below" test "$fifth" -gt "$fourth"

# A floor that nobody left there.
ln -sfn nonsense "$floor"
run lh run k true
is "$status" 65 "a floor that is none: 65"
like "$err" "$LEASEHOLD_TABLE.floor" "  says where"
run lh rm --force --forget-tokens
is "$status" 0 "it can be forgotten: 0"
like "$err" "warning: a new table" "  with a warning"
ok "  and nothing is left" test ! -e "$(object)" -a ! -L "$floor"
run lh rm --forget-tokens
is "$status" 1 "  so that there is none any more: 1"
ok "a new table's tokens begin anew" test "$(token k)" -lt "$fifth"

# Another's table.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	lh init --system --mode 666 >/dev/null
	run setpriv --reuid=65534 --clear-groups "$LEASEHOLD" rm --system --force
	is "$status" 77 "another's table: 77"
	run lh dump --system --json
	is "$(jq .table.retired <<<"$out")" false "  and it is not retired"
	lh rm --system
	rm -f "/dev/shm/leasehold.system/$LEASEHOLD_TABLE.floor"
else
	skip "not root" "another's table: 77"
	skip "not root" "  and it is not retired"
fi

run lh rm k
is "$status" 64 "an argument: 64"
run lh rm --json
is "$status" 64 "an option that is none: 64"

# Something else has the table's name, or that of its floor.
lh rm --force
for what in "mkfifo" "ln -s /" "mkdir"; do
	$what "$(object)"
	run lh rm
	is "$status" 65 "rm of what $what made: 65"
	like "$err" "--force removes it if it is a regular file" "  says when it goes"
	run lh rm --force
	is "$status" 65 "rm --force of it: 65"
	is "${err/--force/}" "$err" "  and --force is not advised"
	like "$err" "remove it" "  but to remove it"
	rm -d "$(object)"
done
rm -f "$floor"
mkdir "$floor"
run lh rm --forget-tokens
is "$status" 0 "a directory in the floor's place is forgotten"
ok "  it is gone" test ! -e "$floor"
mkdir -p "$floor/full"
run lh rm --forget-tokens
like "$err" "remove what is in it" "a full one stays, and what to do is said"
rm -d "$floor/full" "$floor"
finish
