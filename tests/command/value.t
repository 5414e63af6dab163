#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold value`: the value of a key is set, read and cleared.
#
# Otherwise a job could not leave a note for the next one.
. "$(dirname "$0")/lib.sh"
table value

run lh value get k
is "$status" 1 "get without a table: 1"
run lh value clear k
is "$status" 0 "clear: 0"
ok "  and neither makes one" test ! -e "$(object)"
run lh value set k "10.0.0.7:4711"
is "$status/$out$err" 0/ "set, without a word"
run lh value get k
is "$status/$out" "0/10.0.0.7:4711" "get prints it"
run lh value get --json k
like "$out" '"value": "10.0.0.7:4711"' "JSON has it"
like "$out" '"token": "' "  with its token"
run lh status --json k
like "$out" '"value_bytes": 13' "status tells how long it is"
run lh status k
like "$out" "value    13 bytes" "  in words, too"
run bash -c 'printf "a\0b" | "$LEASEHOLD" value set k -'
is "$status" 0 "set from standard input"
run lh value get --json k
like "$out" '"value_hex": "610062"' "bytes that are no text are shown in digits"
run bash -c 'printf "%257s" x | "$LEASEHOLD" value set k -'
is "$status" 64 "257 bytes: 64"
run bash -c 'printf "%256s" x | "$LEASEHOLD" value set k -'
is "$status" 0 "256 bytes: 0"
run lh value clear k
is "$status" 0 "clear"
run lh value get k
is "$status" 1 "then there is none"
like "$err" "has no value" "  it says so"

bg "$LEASEHOLD" run --ttl 60s --value "who leads" k sleep 150
until_true 5000 is_held k
run lh value get k
is "$out" "who leads" "run --value sets it with the lease"
run lh value set -n k other
is "$status" 75 "a held key's is not set by others: 75"
like "$err" "is as it was" "  it says so"
run lh value set -w 100ms k other
is "$status" 75 "nor after a wait"
kill -TERM "$pid"
ended "$pid"
run lh value get k
is "$out" "who leads" "it stays when the lease ends"
run lh value set k other
is "$status" 0 "then others can set it"
run lh destroy k
run lh value get k
is "$status" 1 "it goes with its key"

run lh value
is "$status" 64 "do what: 64"
run lh value put k v
is "$status" 64 "something else: 64"
run lh value get
is "$status" 64 "of which key: 64"
run lh value set k
is "$status" 64 "set it to what: 64"
run lh value set k ""
is "$status" 64 "to nothing: 64"
like "$err" "value clear" "  says what to do"
run lh value clear --json k
is "$status" 64 "--json where nothing is printed: 64"
run lh run -s --value x k true
is "$status" 64 "run -s --value: 64"
# A cluster key has no value, because other hosts would not see it.
for verb in "value get cluster:k" "value set cluster:k v" \
    "run --value v cluster:k true"; do
	# shellcheck disable=SC2086
	run lh $verb
	is "$status" 64 "$verb: refused"
	like "$err" "is a key of a cluster, and has no value" "  and why"
done
finish
