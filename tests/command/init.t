#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold init` makes a table with the options that it gets, and does not
# change an existing one.
#
# Otherwise a second init would lose the leases of a table in use.
. "$(dirname "$0")/lib.sh"
table init

run lh init
is "$status" 0 "init: 0"
like "$out" "made table '$LEASEHOLD_TABLE': up to 1048576 keys, 1024 sessions,\
 262144 leases, order bounded, clock monotonic" "  says what was made"
is "$(stat -c %a "$(object)")" 600 "  for its owner alone"
inode=$(stat -c %i "$(object)")
run lh init --keys 7
is "$status" 73 "init of an existing table: 73"
like "$err" "table '$LEASEHOLD_TABLE' exists and stays as it is" "  says so"
like "$err" "leasehold rm" "  and what to do"
is "$(stat -c %i "$(object)")" "$inode" "  it is the same one"
run lh init --keys 7 --if-missing
is "$status" 0 "--if-missing of an existing table: 0"
like "$out" "there is a table '$LEASEHOLD_TABLE': up to 1048576 keys" \
    "  with its sizes"
run lh init --if-missing --json
is "$(jq -c '[.table, .created, .max_keys]' <<<"$out")" \
    "[\"$LEASEHOLD_TABLE\",false,1048576]" "  and as JSON"

table init2
run lh init --keys 100 --sessions 8 --leases 130 --order fifo \
    --clock boottime --mode 0660 --group "$(id -g)" --json
is "$status" 0 "init with everything: 0"
is "$(jq -c '[.created, .max_keys, .max_sessions, .max_leases, .order, .clock]' \
    <<<"$out")" '[true,100,8,192,"fifo","boottime"]' \
    "  as asked, leases rounded up"
is "$(stat -c '%a %g' "$(object)")" "660 $(id -g)" "  its mode and group"
is "$(lh stats --json | jq -c '[.max_keys, .order]')" '[100,"fifo"]' \
    "  and so others see it"
run lh run k true
is "$status" 0 "  it can be used"

table global
run lh init --tokens global --json
is "$status" 0 "--tokens global: 0"
is "$(jq -r .tokens <<<"$out")" global "  says so"
is "$(lh stats --json | jq -r .tokens)" global "  stats, too"
like "$(lh stats)" "rising over all keys" "  also in words"
a=$(lh run a -- sh -c 'echo $LEASEHOLD_FENCE')
b=$(lh run -s b -- sh -c 'echo $LEASEHOLD_FENCE')
ok "  another key's token is larger" [ "$b" -gt "$a" ]
is "$(lh dump --json | jq -r .table.token_last)" "$b" "  dump tells the last one"
like "$(lh dump)" "the last one $b" "  also in words"
run lh init --tokens session
is "$status" 64 "--tokens session: 64"
table prefix
run lh init --cluster-prefix c/
is "$status" 0 "--cluster-prefix: 0"
run lh init --cluster-prefix "$(printf '%032d' 0)" --table "$LEASEHOLD_TABLE.2"
is "$status" 64 "one that is too long: 64"

table durable
export XDG_STATE_HOME=$dir/state
mkdir -p "$XDG_STATE_HOME"
fences=$XDG_STATE_HOME/leasehold
run lh init --durable --json
is "$status" 0 "--durable: 0"
is "$(jq -r .fence_dir <<<"$out")" "$fences" "  in the usual directory"
is "$(stat -c %a "$fences/leasehold.$(id -u).$LEASEHOLD_TABLE.fence")" 700 \
    "  for its owner alone"
for bad in HOME XDG_STATE_HOME; do
	run env -u HOME -u XDG_STATE_HOME "$bad=rel" "$LEASEHOLD" init \
	    --durable --table "$LEASEHOLD_TABLE.none"
	is "$status" 64 "a relative $bad: 64"
	like "$err" "nor HOME is set to an absolute path" "  says so"
done
run env -u HOME -u XDG_STATE_HOME "$LEASEHOLD" init --durable --table \
    "$LEASEHOLD_TABLE.none"
like "$err" "nor HOME is set; name" "neither is set: another sentence"
first=$(lh run --scope local k -- sh -c 'echo $LEASEHOLD_FENCE')
ok "  its tokens begin above the clock" [ "$first" -gt $((25000 << 32)) ]
is "$(lh status --json k | jq -r .scope)" local "  status tells the scope"
is "$(lh stats --json | jq -r .fence_dir)" "$fences" "  stats the directory"
like "$(lh stats)" "$fences" "  also in words"
like "$(lh dump)" "$fences" "  and so does dump"
run lh rm
is "$status" 0 "  it is removed"
ok "  which leaves its ranges" [ -d "$fences/leasehold.$(id -u).$LEASEHOLD_TABLE.fence" ]
run lh init --durable --no-clock-floor
is "$status" 0 "  and made again"
next=$(lh run --scope local k -- sh -c 'echo $LEASEHOLD_FENCE')
ok "  its tokens go on" [ "$next" -gt "$first" ]
table relative
run lh init --fence-dir relative
is "$status" 64 "a relative directory: 64"

table init3
run lh init --if-missing --mode 600
is "$status" 0 "--if-missing where there is none: 0"
like "$out" "made table" "  it was made"

table init4
echo "no table" >"$(object)"
run lh init
is "$status" 65 "where something else has the name: 65"
run lh init --if-missing
is "$status" 65 "  with --if-missing, too"
rm -f "$(object)"

# Several at once: one makes it.
table init5
for i in 1 2 3 4 5 6; do
	(lh init >/dev/null 2>&1; echo $? >"$dir/status.$i") &
	racers[i]=$!
done
wait "${racers[@]}"
is "$(cat "$dir"/status.? | sort | uniq -c | awk '{print $2 "x" $1}' |
    paste -sd' ')" "0x1 73x5" "six at once: one has made it"

# Where addresses are limited, and the usual sizes need too many.
table narrow
narrow() {	# narrow VERB ARGUMENT...: with 200 MB of addresses
	(ulimit -v 200000 && lh "$@")
}
run narrow run k true
is "$status" 71 "with too small a ulimit -v: 71"
like "$err" "this process may have 200000 KiB of addresses (ulimit -v)" \
    "  names the limit"
like "$err" "leasehold init --keys 10000 --leases 16384" "  and the remedy"
ok "  no table is left behind" test ! -e "$(object)"
run narrow init --keys 10000 --leases 16384
is "$status" 0 "  a table made so: 0"
run narrow run k true
is "$status" 0 "  can be used there"
cmp_size=$(stat -c %s "$(object)")
ok "  it maps $cmp_size bytes, about 12 MB" [ "$cmp_size" -lt 13000000 ]

table init6
if [ "$(id -u)" = 0 ]; then
	run lh init --group 54321 --mode 660
	is "$(stat -c %g "$(object)")" 54321 "a group by number"
else
	skip "not root" "a group by number"
fi
run lh init --table "$LEASEHOLD_TABLE.x" --group no-such-group
is "$status" 64 "a group that is none: 64"

bad() {		# bad PART ARGUMENT...
	local want=$1

	shift
	run lh init --table "$LEASEHOLD_TABLE.x" "$@"
	is "$status" 64 "64: init $*"
	like "$err" "$want" "  says: $want"
}
bad "--keys: 0 are too few" --keys 0
bad "--keys: '67108864' is not a whole number" --keys 67108864
bad "--sessions: 1 are too few: it can be 2 to 4096" --sessions 1
bad "--sessions: '4097' is not" --sessions 4097
bad "--leases: 127 are too few" --leases 127
bad "--leases: '4193985' is not" --leases 4193985
bad "--order: 'lifo' is none of bounded, fifo, barge" --order lifo
bad "--clock: 'sun' is neither monotonic nor boottime" --clock sun
bad "--mode: '888' is not three octal digits" --mode 888
bad "--mode: '1777' is not" --mode 1777
bad "--mode: 060 would lock its owner out" --mode 060
bad "the table's name goes after --table" jobs
bad "'init' has no option '--size'" --size 5
ok "none of that made a table" test ! -e "$(object).x"

finish
