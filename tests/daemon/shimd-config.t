#!/bin/bash
# SPDX-License-Identifier: MIT
# leasehold-shimd: what can be wrong with its configuration is said, with its
# place and what would be right; and its manual leaves nothing out.
. "$(dirname "$0")/lib.sh"
table shimd-config
SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
forget LEASEHOLD_SHIMD_
export STATE_DIRECTORY=$dir/state
conf=$dir/conf

# refused TEXT LINE PART: a file of TEXT (printf) is refused at LINE for PART
refused() {
	# shellcheck disable=SC2059
	printf "$1" >"$conf"
	run "$SHIMD" -n -c "$conf"
	is "$status" 78 "'$1': 78"
	like "$err" "leasehold-shimd: $conf:$2: " "  in line $2"
	like "$err" "$3" "  why"
}

# lacking TEXT PART: it is not of one line
lacking() {
	# shellcheck disable=SC2059
	printf "$1" >"$conf"
	run "$SHIMD" -n -c "$conf"
	is "$status" 78 "'$1': 78"
	like "$err" "$2" "  why"
}

accepted() {
	# shellcheck disable=SC2059
	printf "$1" >"$conf"
	run "$SHIMD" -n -c "$conf"
	is "$status$err" 0 "'$1' is good"
}

# Files of an https endpoint are read, as a start would.
tls='endpoints = https://127.0.0.1:2379\n'
lacking "${tls}ca_file = $dir/none.pem\n" "$dir/none.pem"
echo "no certificate" >"$dir/bad.pem"
lacking "${tls}ca_file = $dir/bad.pem\n" "$dir/bad.pem"
chmod 600 "$dir/bad.pem"
lacking "${tls}cert_file = $dir/bad.pem\nkey_file = $dir/bad.pem\n" \
    "$dir/bad.pem"

e='endpoints = http://127.0.0.1:2379'
accepted "$e\nhost = left\nstate_file = $dir/s\npidfile = $dir/p\n"
accepted "$e\nmetrics = $dir/m\nmetrics_mode = 640\n"
refused 'host =\n' 1 "the value is empty"
refused 'state_file = here\n' 1 "is not an absolute path"
refused 'pidfile = here\n' 1 "is not an absolute path"
refused 'metrics_mode = 999\n' 1 "is not a mode"
refused 'endpoint = x\n' 1 "there is no key 'endpoint'; the keys are system, table"
refused 'ttl = 5q\n' 1 "is no unit of time"
refused 'ttl = 10ms\n' 1 "'10ms' is not between 1000ms and 600s"
refused 'timeout = 11s\n' 1 "is not between 20ms and 10s"
refused 'hold_min = 1h\n' 1 "hold_min"
refused 'max_clients = 3\n' 1 "less than 16"
refused 'max_keys = many\n' 1 "max_keys"
refused 'socket = here\n' 1 "is not an absolute path"
refused 'socket_mode = 999\n' 1 "is not a mode"
refused 'ca_file = ca.pem\n' 1 "is not an absolute path"
refused 'root =\n' 1 "the value is empty"
refused 'ttl = 2s\nttl = 3s\n' 2 "already set on an earlier line"
lacking '# nothing\n' "endpoints is missing"
lacking "$e\nuser = me\n" "user and password_file must be set together"
lacking "$e\ncert_file = /c\n" "cert_file and key_file must be set together"
lacking "$e\nttl = 1s\ntimeout = 500ms\n" "more than a quarter of ttl"
lacking "$e\ntable = a/b\n" "table: 'a/b' is no name"
lacking "$e\nttl = 1s\ntimeout = 300ms\n" "more than a quarter of ttl"
accepted "$e\n"
accepted "$e\nttl = 1s\n"	# timeout is a quarter of that by itself
accepted "$e\nttl = 1s\ntimeout = 250ms\n"
accepted "$e\nendpoints = http://127.0.0.2:2379\nttl = 10s\nsystem = no\n"

echo secret >"$dir/password"
chmod 644 "$dir/password"
lacking "$e\nuser = me\npassword_file = $dir/password\n" "other users can read"
chmod 600 "$dir/password"
accepted "$e\nuser = me\npassword_file = $dir/password\n"
: >"$dir/password"
lacking "$e\nuser = me\npassword_file = $dir/password\n" "is empty"
lacking "$e\nuser = me\npassword_file = $dir/none\n" "cannot read"
{ head -c 254 /dev/zero | tr '\0' x; echo; } >"$dir/password"
accepted "$e\nuser = me\npassword_file = $dir/password\n"
head -c 255 /dev/zero | tr '\0' x >"$dir/password"
lacking "$e\nuser = me\npassword_file = $dir/password\n" "more than 254 bytes"

# places that follow from the environment
long=/tmp/$(head -c 90 /dev/zero | tr '\0' x)
RUNTIME_DIRECTORY=$long lacking "$e\n" "socket: the default path"
RUNTIME_DIRECTORY=$long lacking "$e\nsocket = /tmp/s\n" \
    "metrics: the default path"
RUNTIME_DIRECTORY=$long accepted "$e\nsocket = /tmp/s\nmetrics = off\n"

run env LEASEHOLD_SHIMD_ENDPOINTS=http://127.0.0.1:1 LEASEHOLD_SHIMD_TTL=x \
    "$SHIMD" -n
is "$status" 78 "a bad environment: 78"
like "$err" "environment: LEASEHOLD_SHIMD_TTL" "  says where"
for o in --nonsense -x -c; do
	run "$SHIMD" $o
	is "$status" 64 "option $o: 64"
done
run "$SHIMD" here
is "$status" 64 "an argument: 64"

# what an engine refuses, and a state file that is damaged
run timeout 10 "$SHIMD" -f -e ftp://x
is "$status" 78 "endpoints that are none: 78"
diag "$err"
mkdir -p "$dir/state"
echo x >"$dir/state/$LEASEHOLD_TABLE.state"
run timeout 10 "$SHIMD" -f -e http://127.0.0.1:1
is "$status" 78 "a damaged state file: 78"
like "$err" "is damaged" "  says so, and what to do"

# The manual.
manual "$SHIMD"

# Without a cluster it runs, and says that there is none.
rm -rf "$dir/state"
: >"$dir/log"
echo 'endpoints = http://127.0.0.1:1' >"$conf"
bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" "$SHIMD" -f \
    -c "$conf"
shim=$pid
ok "without a cluster it waits for one" until_true 5000 logged "is unreachable"
ok "  and answers" until_true 5000 lh stats --shim
lh stats --shim >"$dir/shim"
manual_has leasehold-shimd leasehold_shim <"$dir/shim"
run lh run -n cluster:k true
is "$status" 69 "a cluster key: 69"
socket=$RUNTIME_DIRECTORY/$LEASEHOLD_TABLE.metrics
tells() {
	metrics >/dev/null
}
ok "it tells its metrics" until_true 5000 tells
printf 'endpoints = http://127.0.0.1:1\ntable = other\n' >"$conf"
kill -HUP "$shim"
ok "it reads its configuration again" until_true 5000 logged \
    "configuration read again"
ok "  and keeps its place, not that of another table's shim" tells
ok "  (which there is none of)" test ! -e "$RUNTIME_DIRECTORY/other.metrics"
echo "metrics = $dir/here" >>"$conf"
kill -HUP "$shim"
ok "  until another place is configured" until_true 5000 test -S "$dir/here"
run timeout 10 "$SHIMD" -f -e http://127.0.0.1:1
is "$status" 69 "a second one: 69"
kill -TERM "$shim"
ended "$shim"
is "$status" 0 "it ends with 0"
run lh stats --shim
is "$status" 69 "nobody there: 69"

finish
