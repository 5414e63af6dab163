#!/bin/bash
# SPDX-License-Identifier: MIT
# A command line without a meaning is exit status 64 and one sentence that says
# why; nothing is run, and no table is made.
#
# Otherwise a typing error would run a job without its key.
. "$(dirname "$0")/lib.sh"
table usage

# bad PART ARGUMENT...: refused, with that in the sentence
bad() {
	local want=$1

	shift
	run lh "$@"
	is "$status" 64 "64: leasehold ${*:0:60}"
	like "$err" "$want" "  says: $want"
	is "$(wc -l <"$dir/err")$out" 1 "  in one line, and no answer"
}

long=$(printf 'k%.0s' {1..256})
longest=${long%k}
never=(touch "$dir/ran")

run lh
is "$status" 64 "no verb: 64"
like "$err" "usage:" "no verb: the usage"

bad "no verb 'lst'; did you mean 'list'?" lst
bad "no verb 'accquire'; did you mean 'acquire'?" accquire
bad "no verb 'rnu'; did you mean 'run'?" rnu
bad "no verb 'frobnicate'; 'leasehold --help' lists" frobnicate
bad "no verb 'lst'" help lst
bad "help takes one verb" help run list
for verb in run status help; do
	is "$(lh help ${verb#help})" "$(lh ${verb#help} --help)" "help $verb is $verb --help"
done
bad "the verb comes first" --table x list

bad "under which key" run
bad "under which key" run -n
bad "run what" run k
bad "run what" run k --
bad "run what" run k ""
bad "key is empty" run "" "${never[@]}"
bad "key is 256 bytes long" run "$long" "${never[@]}"
bad "key is empty" run a,,b "${never[@]}"
bad "key is empty" run a, "${never[@]}"
bad "key is 256 bytes long" run "a,$long" "${never[@]}"
bad "'b' is there twice" run a,b,c,b "${never[@]}"
bad "'65' is one key too many" run "$(seq -s, 65)" "${never[@]}"
bad "'--shared' takes no value" run --shared=yes k "${never[@]}"
bad "'run' has no option '-u'" run -u k "${never[@]}"
bad "--policy: 'nice' is none of lease, strict, live" \
    run --policy nice k "${never[@]}"
bad "--info: 96 bytes, and 95 are the most" run \
    --info "$(printf 'x%.0s' {1..96})" k "${never[@]}"
bad "'run' has no option '-z'" run -z k "${never[@]}"
bad "'run' has no option '--nonsense'" run --nonsense k "${never[@]}"
bad "'run' has no option '--json'" run --json k "${never[@]}"
bad "'--verbose' takes no value" run --verbose=3 k "${never[@]}"
bad "'-w' needs a value" run -w
bad "'--ttl' needs a value" run --ttl

bad "--ttl: a lease lasts from 1ms to 30d" run --ttl 0 k "${never[@]}"
bad "--ttl: a lease lasts from 1ms to 30d" run --ttl 31d k "${never[@]}"
bad "--ttl: a lease lasts from 1ms to 30d" run --ttl 0.0ms k "${never[@]}"
bad "is negative; write a time" run --ttl -5s k "${never[@]}"
bad "is negative; write a time" run --ttl=-.5s k "${never[@]}"
bad "--ttl: 'soon' is not a time" run --ttl soon k "${never[@]}"
bad "--ttl: '' is not a time" run --ttl= k "${never[@]}"
bad "--ttl: '.' is not a time" run --ttl . k "${never[@]}"
bad "--ttl: '+3' is not a time" run --ttl +3 k "${never[@]}"
bad "no unit of time" run --ttl 5y k "${never[@]}"
bad "no unit of time" run --ttl 1h30m k "${never[@]}"
bad "no unit of time" run --ttl 0x10 k "${never[@]}"
bad "no unit of time" run --ttl 1e3 k "${never[@]}"
bad "no unit of time" run --ttl 1.2.3s k "${never[@]}"
bad "no unit of time" run --ttl "3 s" k "${never[@]}"
bad "no unit of time" run --ttl 1S k "${never[@]}"
bad "more than ten years" run -w 99999999999999999999999h k "${never[@]}"
bad "more than ten years" run -w 3651d k "${never[@]}"
bad "-w: 'never' is not a time" run -w never k "${never[@]}"

bad "-E: '256' is not a whole number from 0 to 255" run -E 256 k "${never[@]}"
bad "-E: '-1' is not a whole number" run -E -1 k "${never[@]}"
bad "-E: a number is missing" run -E "" k "${never[@]}"
bad "--lost-exit-code: '7x' is not a whole" run --lost-exit-code 7x k "${never[@]}"
bad "--priority: '4294967296' is not a whole number from 0 to 4294967295" \
    run --priority 4294967296 k "${never[@]}"
bad "--priority: '99999999999999999999999' is not" \
    run --priority 99999999999999999999999 k "${never[@]}"
bad "--scope: 'galactic' is none of ephemeral, local, quorum" \
    run --scope galactic k "${never[@]}"
bad "--on-loss: 'shrug' is neither kill nor warn" run --on-loss shrug k "${never[@]}"
bad "-F needs --ttl" run -F k "${never[@]}"
bad "-c and a command" run -c true k "${never[@]}"
bad "-c takes one argument" run k -c touch "$dir/ran"
bad "-c takes one argument" run k -c

bad "which key" status
bad "key is empty" status ""
bad "key is 256 bytes long" status "$long"
bad "one too many" status a b
bad "'status' has no option '-z'" status -z k
bad "one too many" list a b
bad "prefix is 256 bytes long" list "$long"
bad "'list' has no option '--colour'" list --colour
bad "takes no argument" version x
bad "name" run --table "" k "${never[@]}"
bad "name" run --table "a/b" k "${never[@]}"
bad "name" run --table .hidden k "${never[@]}"
bad "name" list --table "$(printf 't%.0s' {1..65})"

ok "nothing of all that was run" test ! -e "$dir/ran"
ok "and no table was made" test ! -e "$(object)"

# Scopes that exist, on a table that cannot give them: said before it runs.
run lh run --scope local k "${never[@]}"
is "$status" 64 "scope local without a fence file: 64"
run lh run --scope quorum k "${never[@]}"
is "$status" 64 "scope quorum without a cluster: 64"
ok "the command was not run" test ! -e "$dir/ran"

# What looks strange and is right.
run lh run "$longest" true
is "$status" 0 "a key of 255 bytes"
for t in 9.5s 9000ms 2m 1h 30d 10 9. 0010s 1.0000000000000000001s; do
	run lh run --ttl "$t" k true
	is "$status" 0 "--ttl $t"
done
for t in 0 0s 0.0001ms forever 3650d; do
	run lh run -w "$t" k true
	is "$status" 0 "-w $t"
done
run lh run --ttl 0.4ms k true
isnt "$status" 64 "what is finer than 1 ms is rounded up, not down to 0"
run lh run --prio 3 --conflict 4 --sh k true
is "$status" 0 "long options may be cut short"

for v in run list status init stats fsck dump log rm version; do
	run lh $v --help
	is "$status" 0 "$v --help: 0"
	like "$out" "usage: leasehold $v" "$v --help: its usage"
	is "$err" "" "$v --help: nothing to standard error"
done
for h in --help -h help; do
	run lh $h
	is "$status" 0 "$h: 0"
done
run lh version
ok "version" grep -qx 'leasehold [0-9.]*' "$dir/out"
run lh --version
ok "--version" grep -qx 'leasehold [0-9.]*' "$dir/out"
run lh version --json
is "$(jq -r .name <<<"$out")" leasehold "version --json"

run bash -c '"$LEASEHOLD" version >/dev/full'
is "$status" 71 "an answer that cannot be written: 71"

finish
