#!/bin/bash
# SPDX-License-Identifier: MIT
# Guarantee G12, `leasehold fsck`: a table is sound, damaged, or no table at
# all, and each has its exit status.
#
# Otherwise an operator would trust a damaged table.
. "$(dirname "$0")/lib.sh"
table fsck

# poke OFFSET BYTES: overwrite bytes of the table (printf escapes)
poke() {
	printf "$2" | dd of="$(object)" bs=1 seek="$1" conv=notrunc status=none
}

run lh fsck
is "$status" 1 "fsck without a table: 1"
ok "  and makes none" test ! -e "$(object)"

lh init --keys 100 --sessions 16 --leases 1024 >/dev/null
bg "$LEASEHOLD" run --ttl 60s held sleep 150
holder=$pid
until_true 5000 is_held held
run lh fsck
is "$status" 0 "a table in use: 0"
is "$out" "table '$LEASEHOLD_TABLE' is sound (1 keys)" "  says so"
run lh fsck --json
is "$status$(jq -c . <<<"$out")" \
    "0{\"table\":\"$LEASEHOLD_TABLE\",\"sound\":true,\"findings\":[]}" \
    "  as JSON"

# Beside keys that come and go nothing is found.
bg bash -c 'until [ -e "$0" ]; do
	"$LEASEHOLD" run "moving$((RANDOM % 50))" true; done' "$dir/enough"
mover=$pid
bad=0
for _ in 1 2 3 4 5; do
	lh fsck >/dev/null || bad=1
done
is "$bad" 0 "beside changes: nothing is found"
touch "$dir/enough"
ended "$mover"

# A session in no known state: the state's top byte, at 4096 + 512 i + 7.
poke $((4096 + 15 * 512 + 7)) '\143'
run lh fsck
is "$status" 65 "a damaged session: 65"
is "$out" "session 15 is in no known state (99)" "  says where"
like "$err" "is damaged (1 findings)" "  and what to do"
run lh fsck --json
is "$status" 65 "  as JSON: 65"
is "$(jq -c '[.sound, .findings]' <<<"$out")" \
    '[false,["session 15 is in no known state (99)"]]' "  the finding"
poke $((4096 + 15 * 512 + 7)) '\0'
run lh fsck
is "$status" 0 "repaired by hand: 0"

# Damage that was met earlier is reported.
poke 128 '\1'
run lh fsck
is "$status" 65 "damage was met earlier: 65"
like "$out" "damage was met earlier" "  says so"
poke 128 '\0'

# Repair.
held_token() {
	lh run held sh -c 'echo $LEASEHOLD_FENCE'
}

poke 128 '\1'
run lh fsck --repair
is "$status" 75 "a repair of a table in use: 75"
like "$err" "in use by sleep" "  names the user"
like "$err" "end them first" "  says what to do"
run lh fsck --repair --dry-run
is "$status" 75 "  a dry run as well"
slain "$holder"
poke 128 '\0'
run lh fsck --repair
is "$status" 0 "a repair of a sound table: 0"
like "$out" "1 dead sessions were buried" "  what the dead left is cleared"
like "$out" "is sound" "  and no more"
first=$(held_token)
poke $((4096 + 15 * 512 + 7)) '\143'
run lh fsck --repair --dry-run
is "$status" 65 "a dry run on a damaged table: 65"
like "$out" "session 15 is in no known state (99)" "  what is wrong"
like "$out" "would be done" "  what would be done"
like "$out" "is damaged (1 findings)" "  in all"
run lh fsck --repair --dry-run --json
is "$status$(jq -c '[.sound,.repaired,.findings,(.done|length)]' <<<"$out")" \
    '65[false,false,["session 15 is in no known state (99)"],1]' "  as JSON"
run lh fsck
is "$status" 65 "  and nothing was done"
run lh fsck --repair
is "$status" 0 "a repair: 0"
like "$out" "was damaged and is repaired (1 findings)" "  says so"
run lh fsck
is "$status" 0 "  and it is sound"
ok "  tokens go on above" test "$(held_token)" -gt $((first + 1000000))
poke 128 '\1'
run lh fsck --repair --json
is "$status$(jq -c '[.sound,.repaired,(.done|length)]' <<<"$out")" \
    '0[true,true,1]' "a repair as JSON"
# A session without a process is a user as well: a named one, a bound one.  A dry
# run does not promise what the repair would refuse.
refuses_named() {	# refuses_named NAME
	poke 128 '\1'
	for how in "" --force; do
		# shellcheck disable=SC2086 # no option is no argument
		run lh fsck --repair --dry-run $how
		local dry="$status $err"
		is "$status" 75 "a dry run $how beside a $1 session: 75"
		is "${out/would be done/}" "$out" "  it promises nothing"
		# shellcheck disable=SC2086
		run lh fsck --repair $how
		is "$status $err" "$dry" "  the repair says the same"
		like "$err" "in use by the named session" "  and names the user"
	done
}
lh session open --ttl 600s alone >/dev/null
lh acquire --session alone theirs >/dev/null
refuses_named named
lh session destroy alone >/dev/null
run lh fsck --repair --dry-run
is "$status" 65 "without that session a dry run says what would be done"
like "$out" "would be done" "  it does"
run lh fsck --repair
is "$status" 0 "  and it is done"
bg sleep 600
lh acquire --for-pid "$pid" theirs >/dev/null
refuses_named bound
kill "$pid"
ended "$pid"
run lh fsck --repair
is "$status" 0 "once its process has ended, the table is repaired"
poke 168 '\x2c\xf0\xd7\x4b\x18\xe3\x95\x6a'	# header's repair: noted
poke 128 '\4'
run lh run held true
is "$status" 65 "a repair that was cut short: the table is not used"
like "$err" "fsck --repair" "  says what to do"
run lh fsck
is "$status" 65 "  fsck says so"
run lh fsck --repair
is "$status" 0 "  and repairs it"
run lh run held true
is "$status" 0 "  then it is used again"
run lh fsck --dry-run
is "$status" 64 "--dry-run alone: 64"

# From another time namespace nothing can be said against the table.
if [ "$(id -u)" = 0 ] && unshare -T --fork true 2>/dev/null; then
	for how in "" --dry-run; do
		# shellcheck disable=SC2086 # no option is no argument
		run unshare -T --monotonic 1000 --fork "$LEASEHOLD" fsck \
		    --repair $how
		is "$status" 65 "in another time namespace $how: 65"
		like "$err" "nothing is known to be wrong" "  not the table"
		like "$err" "another time namespace" "  says why"
		is "${err/--force/}" "$err" "  and not to remove it"
	done
else
	skip "not root" "in another time namespace"
fi

# The header.
poke 64 '\7'
run lh fsck
is "$status" 65 "a damaged header: 65"
like "$err" "header" "  says so"
run lh fsck --repair
is "$status" 65 "  beyond repair: 65"
like "$err" "rm --force" "  says what to do"
run lh fsck --json
is "$status$(jq -c .sound <<<"$out")" 65false "  as JSON"
echo nonsense >"$(object)"
run lh fsck
is "$status" 65 "not a table: 65"

like "$(lh fsck --repair 2>&1)" "rm --force" "  beyond repair"
lh rm --force
run lh fsck --repair
is "$status" 1 "a repair without a table: 1"

run lh fsck x
is "$status" 64 "an argument too many: 64"

finish
