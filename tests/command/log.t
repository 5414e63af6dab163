#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold log`: the latest events, and who held a key at a given time.
#
# Otherwise a failure could not be explained after the fact.
. "$(dirname "$0")/lib.sh"
table log

run lh log
is "$status" 1 "log without a table: 1"
like "$err" "there is no table '$LEASEHOLD_TABLE'" "  says so"
ok "  and makes none" test ! -e "$(object)"

lh init --keys 100 --sessions 16 --leases 1024 >/dev/null
says() {	# says PATTERN NAME: a line of it is that
	ok "  $2" grep -qE "$1" <<<"$out"
}
when='[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3}'

bg "$LEASEHOLD" run --ttl 60s k sleep 150
holder=$!
until_true 5000 is_held k
lh run -w 0.5 k true 2>/dev/null
run lh log
is "$status" 0 "log: 0"
says "^$when sleep\[$holder\] attached$" "who came"
says "^$when sleep\[$holder\] k: made the key$" "who made the key"
says "^$when true\[[0-9]+\] k: begins to wait$" "who waited"
says "^$when true\[[0-9]+\] k: waited for too long$" "a wait that timed out"
says "^$when true\[[0-9]+\] detached, with its leases$" "who went"
is "$(cut -c1-23 <<<"$out")" "$(cut -c1-23 <<<"$out" | sort)" \
    "in the order of time"
run lh log other
is "$out" "" "of a key of which nothing is known: nothing"
run lh log k
is "$(grep -vc ' k: ' <<<"$out")" 0 "of one key: only that"
sleep 1.1
run lh log --since 1s
is "$out" "" "--since: nothing is that new"
run lh log --since 1h k --json
is "$status" 0 "--json: 0"
is "$(jq -c 'map(.kind)' <<<"$out")" \
    '["key-made","granted","wait-began","timed-out"]' "  what"
is "$(jq -r '.[0] | .pid, .application, .key' <<<"$out" | tr '\n' ' ')" \
    "$holder sleep k " "  who"
is "$(jq -c 'map([.time_ms, .clock_ns, .number, .session | type]) | add |
    unique' <<<"$out")" '["string"]' "  64 bits are strings"

# The holder of then: the present one, if it held the key before that.
now=@$(date +%s.%N)
run lh log --at "$now" k
is "$status" 0 "--at, held: 0"
like "$out" "k was held at" "  says so"
like "$out" "by sleep[$holder], exclusive, token" "  by whom"
run lh log --at "$now" --json k
is "$(jq -c '[.key, .certain, .holders[0].who, .holders[0].certain]' \
    <<<"$out")" "[\"k\",true,\"sleep[$holder]\",true]" "  as JSON"
run lh log --at "@$(($(date +%s) - 3600))" k
is "$status" 66 "--at, before the table was made: 66, not recorded"
like "$out" "nobody is known to have held k" "  says what is known"
run lh log --at "@$(($(date +%s) + 3600))" k
is "$status" 64 "--at, in the future: 64"
like "$err" "is in the future" "  says so"
is "$out" "" "  and nothing else"
run lh log --at "$(date '+%F %T')" k
is "$status" 0 "--at, as people write it"
run lh log --at "$(date +%T)" k
is "$status" 0 "  today"

# Everyone crashed: the log is there, with who it was.
kill -KILL "$holder"
until_true 5000 is_free k
run lh log --at "$now" k
is "$status" 66 "--at, of a holder that may have died by then: 66"
like "$out" "by sleep[$holder], exclusive" "  by whom"
like "$out" "as far as is known" "  and that it is not certain"
run lh log --at "@$(date +%s.%N)" k
is "$status" 66 "--at, after its death: 66"
like "$out" "before that: " "  the last known event is shown"
like "$out" "ended the lease of sleep[$holder], which had died" \
    "  whose lease ended"
run lh log
says "^$when .*\[[0-9]+\] found sleep\[$holder\] dead$" "who found it dead"
says "ended the lease of sleep\[$holder\], which had died, token [0-9]+$" \
    "and ended its lease"

# The command's own leases are recorded on a fresh table, with no switch.
midst=()
for mode in -x -s; do
	bg "$LEASEHOLD" run $mode own sleep 150
	until_true 5000 is_held own
	sleep 0.1
	midst+=("@$(date +%s.%N)")
	sleep 0.1
	kill -TERM "$pid"
	until_true 5000 is_free own
done
run lh log --at "${midst[0]}" own
is "$status" 0 "--at, a command's lease of then: 0"
like "$out" "own was held at" "  says so"
like "$out" "by sleep[" "  by whom"
like "$out" "exclusive, token" "  how"
is "$(grep -c 'as far as' <<<"$out")" 0 "  for certain"
run lh log --at "${midst[1]}" own
is "$status" 0 "--at, a reader's: 0"
like "$out" "shared, token" "  how"
run lh log --at "@$(date +%s.%N)" own
is "$status" 66 "--at, after that: programs may have held it: 66"
like "$out" "nobody is known to have held own" "  says what is known"
lh session open --ttl 60s keeps >/dev/null
lease=$(lh acquire --session keeps own)
then=@$(date +%s.%N)
sleep 0.1
read -r id token <<<"$lease"
lh release own "$id" "$token"
run lh log --at "$then" own
is "$status" 0 "--at, one that was released by its token: 0"
like "$out" "session keeps, exclusive" "  by whom"
lh session destroy keeps

# Every lease, when switched on.
run lh log --grants on
is "$status" 0 "--grants on: 0"
is "$out" "grants and releases are recorded from now on" "  says so"
run lh log --grants on
like "$out" ", as before" "  again"
lh run g true
sleep 0.1
between=@$(date +%s.%N)
sleep 0.1
lh run -s g sleep 0.3
run lh log g
says "true\[[0-9]+\] g: has it, token [0-9]+$" "a grant"
says "true\[[0-9]+\] g: released it, token [0-9]+$" "a release"
says "sleep\[[0-9]+\] g: has it, shared, token [0-9]+$" "a reader's"
run lh log --at "$between" g
is "$status" 1 "--at, between: 1"
like "$out" "nobody held g at" "  that is certain now"
at=$(lh log --json g |
    jq -r 'map(select(.mode == "shared"))[0].time_ms | tonumber / 1000 + 0.1')
run lh log --at "@$at" g
is "$status" 0 "--at, in the midst of it"
like "$out" "by sleep[" "  by whom"

# A named session: what it gets and loses is its own, not of who made it, nor of
# who has its record next.
lh session open --ttl 60s job >/dev/null
lh acquire --session job disk >/dev/null
sleep 0.1
during=@$(date +%s.%N)
sleep 0.1
lh session destroy job
run lh log disk
says "handed it over to session job, token [0-9]+$" "a hand-over"
says "ended the lease of session job, which had been destroyed" \
    "a session's lease ends with it"
run lh log --at "$during" disk
is "$status" 66 "--at, a session whose end was noticed later: 66"
like "$out" "by session job, exclusive" "  by whom"
lh session open --ttl 60s second >/dev/null
run lh log disk
is "$(grep -c "session second" <<<"$out")" 0 \
    "the next session of that record has nothing to do with it"
run lh log --json disk
is "$(jq -r 'map(.kind) | join(" ")' <<<"$out")" \
    "key-made granted handed-over freed-dead" "  as JSON"
lh acquire --session second disk >/dev/null
run lh log --json disk
is "$(jq -r '.[-1] | .kind, .other_session_name' <<<"$out" | xargs)" \
    "handed-over second" "  to which session"
run lh log --at "@$(date +%s.%N)" disk
is "$status" 0 "--at, now"
like "$out" "by session second, exclusive" "  by whom"

run lh log --grants off
is "$out" "grants and releases are not recorded any more" "--grants off"
lh run off true
run lh log off
is "$(grep -c 'has it' <<<"$out")" 1 "  the command's are recorded still"

# Follow: events are shown as they come.
"$LEASEHOLD" log --follow --json off >"$dir/followed" 2>"$dir/noise" &
follower=$!
mind "$follower"
lh run off true
bg "$LEASEHOLD" run --ttl 60s off sleep 150
until_true 5000 is_held off
lh run -w 0.5 off true 2>/dev/null
until_true 5000 grep -q timed-out "$dir/followed"
kill -INT "$follower"
wait "$follower"
is $? 0 "--follow, interrupted: 0"
is "$(jq -c '[.record, .number]' "$dir/followed" | sort | uniq -d)" "" \
    "  nothing twice"
is "$(jq -rs 'map(.kind) | join(" ")' "$dir/followed")" \
    "key-made granted released granted released granted wait-began timed-out" \
    "  all of it, an object a line"

# A copy tells the same.
cp "$(object)" "$dir/image"
lh log off | sed 's/^.\{24\}//' >"$dir/of-table"
run lh log --file "$dir/image" off
is "$status" 0 "--file: 0"
is "$(sed 's/^.\{24\}//' <<<"$out")" "$(cat "$dir/of-table")" "  the same"
run lh log --file "$dir/none"
is "$status" 1 "no such file: 1"
run lh log --file /etc/passwd
is "$status" 65 "no table in it: 65"

bad() {		# bad PART ARGUMENT...
	local want=$1

	shift
	run lh log "$@"
	is "$status" 64 "64: log $*"
	like "$err" "$want" "  says: $want"
}
bad "is neither on nor off" --grants maybe
bad "--grants is only a switch" --grants on k
bad "with --file there is no" --file x --table y
bad "--at wants a KEY" --at 12:00
bad "'noon' is not a time" --at noon k
bad "is no number of seconds" --at @x k
bad "--at is about one moment" --at 12:00 --since 1s k
bad "is not a time" --since yesterday
bad "is one too many" k l
bad "the key is empty" ""
bad "has no option '--nonsense'" --nonsense

finish
