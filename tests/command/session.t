#!/bin/bash
# SPDX-License-Identifier: MIT
# `session`, `acquire`, `renew`, `release`: leases that outlive the processes of
# a script.
#
# Otherwise a script could not hold a key over several commands.
. "$(dirname "$0")/lib.sh"
table session
unset LEASEHOLD_SESSION

run lh session list
is "$status" 1 "session list without a table: 1"
run lh session open job --ttl 60s
is "$status $out" "0 job" "session open: its name"
run lh session open job --ttl 5s
is "$status $out" "0 job" "once more: the same"
like "$err" "it keeps its ttl of 1m00s" "  with a warning that its ttl stays"
run lh session renew job
is "$status $out" "0 60" "session renew: the ttl in force"
run lh session open --create-only job
is "$status" 73 "--create-only: 73"
run lh session open --no-create other
is "$status" 1 "--no-create, and there is none: 1"
run lh session renew other
is "$status" 1 "renew of none: 1"

run lh acquire --session job disk
is "$status" 0 "acquire"
read -r id token session <<<"$out"
is "${#id} $session" "32 job" "  prints id, token, session"
is_held disk >/dev/null
is "$?" 0 "  it is held"
run lh acquire -n disk
is "$status" 75 "acquire -n of a held key: 75"
like "$err" "held by session 'job' for" "  by that session"
like "$err" "that session ends in " "  until its end"
run lh status disk
like "$out" "holder   session job" "status: the session"
like "$out" ", with its session, unless that is renewed)" "  until its end"
run lh status --json disk
is "$(jq -r '.holders[0] | .in_session, .ends_with_session, has("pid"),
    has("tid"), has("maker_pid")' <<<"$out" | xargs)" \
    "true true false false true" "  as JSON"
left=$(($(jq -r '.holders[0].expires_ms' <<<"$out") - $(date +%s%3N)))
between "$left" 1 60000 "  when it ends"
is "$(jq -r '.holders[0].session' <<<"$out")" job "  and which session it is"
run lh list
is "$(grep -c "no end" <<<"$out")" 0 "list: the time that is left"
run lh acquire -n -w 1s --session job tape
is "$status" 0 "a second one in it"
run lh session list --json
is "$(jq -r '.[0].session, .[0].leases, .[0].ttl_ms' <<<"$out" | xargs)" \
    "job 2 60000" "session list --json"
run lh session list --json jo
is "$(jq -r '.[].session' <<<"$out")" job "session list jo"
run lh session list --json jobs
is "$status $out" "0 []" "session list jobs"
run lh session list
ok "session list" grep -qE "^job .* 2 +[0-9]+$" <<<"$out"
run lh release disk "$id" $((token + 1))
is "$status" 76 "release with another token: 76"
is_held disk >/dev/null
is "$?" 0 "  it is held still"
run lh release disk "$id" "$token"
is "$status$out$err" 0 "release"
run lh release disk "$id" "$token"
is "$status" 76 "release again: 76"
run lh status disk
is "$status" 1 "  it is free"
# By request id: repeated, it gets the same lease.
req=$(printf '%032x' 4711)
run lh acquire --session job --request "$req" disk
is "$status" 0 "acquire --request"
first=$out
run lh acquire --session job --request "$req" disk
is "$status $out" "0 $first" "  repeated: the same lease"
run lh acquire -n --session job --request "$req" tape2
is "$status" 64 "  for another key: refused"
run lh release --session job --request "$req"
is "$status$out$err" 0 "release --request"
run lh release --session job --request "$req"
is "$status$out$err" 0 "  again: released"
run lh status disk
is "$status" 1 "  it is free"
run lh acquire --session job --request "$req" disk
is "$status" 76 "acquire by it now: it is over"
run lh release --session job --request "$(printf '%032x' 5)"
is "$status" 76 "release of an unknown request: 76"
for verb in "acquire --session job --request ID disk" \
    "release --session job --request ID"; do
	# shellcheck disable=SC2086
	run lh ${verb/ID/$(printf '%032d' 0)}
	is "$status" 64 "$verb: an id of zeros is none: 64"
	like "$err" "use random digits" "  says so"
done
run lh acquire --request "$req" disk
is "$status" 64 "--request without a session: 64"

export LEASEHOLD_SESSION=job
run lh acquire -s disk
is "$status" 0 "acquire into \$LEASEHOLD_SESSION"
is "${out##* }" job "  says which"
run lh renew
is "$status $out" "0 60" "renew \$LEASEHOLD_SESSION"
run lh rm
is "$status" 75 "rm while a session lives: 75"
like "$err" "named session 'job'" "  says which"
run lh session destroy
is "$status$out$err" 0 "session destroy"
run lh status tape
is "$status" 1 "  its keys are free"
run lh acquire disk
is "$status" 76 "acquire into one that has ended: 76"
run lh renew
is "$status" 1 "renew: 1"
unset LEASEHOLD_SESSION

run lh acquire --json --info why disk
is "$status" 0 "acquire without a session makes one"
id=$(jq -r .lease <<<"$out") token=$(jq -r .token <<<"$out")
session=$(jq -r .session <<<"$out")
is "${session%%-*}" acquire "  with its name"
run lh status disk
like "$out" "why" "  what for is shown"
run lh renew "$session"
is "$status $out" "0 15" "  renew: 15 s"
run lh release disk "$id" "$token"
is "$status" 0 "  release"
run lh session list --json
is "$out" "[]" "  ends it"
run lh acquire --ttl "$(t_ms 1000)ms" disk
is "$status" 0 "with a ttl"
run lh acquire -w 20s other
read -r id token session <<<"$out"
run lh acquire -w "$(t_ms 5000)ms" --session "$session" disk
is "$status" 0 "  it ends by that"
lh session destroy "$session"

# delayed KEY LOCK-DELAY: a session had it, and has run out (if that was before
# it had it, another one)
delayed() {
	lh session open --ttl "$(t_ms 1000)ms" --lock-delay "$2" d &&
	    lh acquire --session d "$1" && until_true 5000 is_free "$1"
}
ok "a session runs out" until_true 20000 delayed tape 100s
run lh acquire -n tape
is "$status" 75 "lock-delay: busy after the end"
run lh status tape
is "$status" 1 "  status: nobody holds it"
like "$out" "state    delayed" "  but it is not called free"
like "$out" "(nobody is granted it for " "  and until when is said"
ok "another does" until_true 20000 delayed disk "$(t_ms 2000)ms"
run lh acquire -w "$(t_ms 5000)ms" disk
is "$status" 0 "  and not for ever"
lh session destroy "${out##* }"
# the page says that the delay begins when the end is first seen
unseen() {	# if it has ended before that, in another one
	lh session open --ttl "$(t_ms 500)ms" --lock-delay "$(t_ms 3000)ms" u &&
	    lh acquire --session u unseen && sleep "$((4 * slow))"
}
ok "a session ends, and nobody looks during its lock-delay" \
    until_true 60000 unseen
run lh run -n unseen true
is "$status" 75 "  the delay begins with the first look"
run lh run -w "$(t_ms 9000)ms" unseen true
is "$status" 0 "  and ends"
run lh rm
is "$status" 0 "rm when no session lives"

for wrong in "session" "session what" "session open a b" "session renew" \
    "session renew --ttl 1s a" "session list a b" "session destroy --json a" \
    "session open --ttl 1ms" "acquire" "acquire a b" "acquire --ttl x a" \
    "acquire --session s --ttl 1s a" "renew a b" "renew --json a" \
    "release k" "release k 12 3" "release --json k" \
    "session open 12345678901234567890123456789012"; do
	# shellcheck disable=SC2086
	run lh $wrong
	is "$status" 64 "$wrong: 64"
done

finish
