#!/bin/bash
# SPDX-License-Identifier: MIT
# A lock for the life of a script: `acquire --for-pid $$`, `session open --pid`.
# Nothing renews it.  It is free as soon as the script is dead, also by SIGKILL.
#
# Otherwise a script would need a loop that renews its lock, and that outlives
# it.
. "$(dirname "$0")/lib.sh"
table for-pid
unset LEASEHOLD_SESSION

cat >"$dir/script" <<'END'
leasehold() { "$LEASEHOLD" "$@"; }
leasehold acquire --for-pid $$ disk,tape >"$0.lease" || exit
echo $$ >"$0.pid"
sleep 150 >/dev/null 2>&1 &	# not the pipe that prove reads
exec sleep 150
END
# shellcheck disable=SC2317
held() {
	is_held "$1" >/dev/null
}
waiters() {
	lh status --json disk | jq '.waiters | length'
}
somebody_waits() {
	[ "$(waiters)" -gt 0 ]
}
# shellcheck disable=SC2317
nobody_waits() {
	[ "$(waiters)" = 0 ]
}
# begin: starts the script, and waits until it has its keys
begin() {
	rm -f "$dir/script.pid"
	bg bash "$dir/script"
	script=$pid
	until_true 5000 test -s "$dir/script.pid"
}
begin
is "$(wc -l <"$dir/script.lease")" 2 "a script has its lines, one a key"
ok "and holds" held disk
ok "  both keys" held tape
run lh run -n disk true
is "$status" 75 "another one does not get them: 75"
like "$err" "which lives as long as process $script" "  says until when"
run lh status disk
like "$out" "[$script]" "status: the process"
like "$out" "with process $script" "  its end"
run lh status --json disk
is "$(jq -c '.holders[0] | [.bound, .bound_pid, has("expires_ms"),
    has("maker_pid")]' <<<"$out")" "[true,$script,false,false]" "  as JSON"
run lh session list
like "$out" "bound        -       2  $script" "session list"
run lh session list --json
is "$(jq -c '.[0] | [.bound, .ttl_ms, .pid, has("expires_ms")]' <<<"$out")" \
    "[true,0,$script,false]" "  as JSON"
run lh explain disk
like "$out" "which ends with process $script" "explain"
run lh renew "$(read -r _ _ s <"$dir/script.lease"; echo "$s")"
is "$status $out" "0 0" "a renewal is not needed, and harmless"

# Dead by SIGKILL, and waited for: a try succeeds at once.
kill -KILL "$script"
wait "$script" 2>/dev/null
run lh run -n disk true
is "$status" 0 "killed: a try succeeds at once"
run lh session list --json
is "$out" "[]" "  its session has ended"

# Killed while somebody waits.
begin
"$LEASEHOLD" run -w 60 disk date +%s%N >"$dir/got" &
waiter=$!
mind "$waiter"
until_true 5000 somebody_waits
killed=$(date +%s%N)
kill -KILL "$script"
wait "$waiter"
is $? 0 "killed: a waiter gets the key"
between $((($(cat "$dir/got") - killed) / 1000000)) 0 "$(t_ms 500)" \
    "  within the bound of T2"

# Released by hand before the end.
begin
read -r id token _ <"$dir/script.lease"
run lh release disk "$id" "$token"
is "$status" 0 "released by hand"
run lh run -n disk true
is "$status" 0 "  and free"
ok "  the other key is held still" held tape
kill -KILL "$script"
wait "$script" 2>/dev/null

# The script is killed while it waits for the key.
bg "$LEASEHOLD" run disk sleep 150
until_true 5000 held disk
# shellcheck disable=SC2016
bash -c 'echo $$ >"$1"; "$LEASEHOLD" acquire --for-pid $$ disk; sleep 150' \
    - "$dir/waits" 2>"$dir/waits.err" &
script=$!
mind "$script"
until_true 5000 somebody_waits
asker=$(pgrep -P "$script")
mind "$asker"
kill -KILL "$script"
wait "$script" 2>/dev/null
ok "its wait ends with it" until_true 5000 \
    nobody_waits
until_true 5000 test -s "$dir/waits.err"
like "$(cat "$dir/waits.err")" "'disk' is not acquired" "  and says so"

# The wait ends, by time or by a signal: no session is left for the script.
sessions() {
	lh session list --json | jq length
}
for how in -n '-w 200ms' TERM INT HUP QUIT KILL; do
	# shellcheck disable=SC2086
	case $how in
	-*)	run lh acquire $how --for-pid $$ disk
		is "$status" 75 "acquire $how: busy" ;;
	*)	bg "$LEASEHOLD" acquire --for-pid $$ disk
		until_true 5000 somebody_waits
		kill -s "$how" "$pid"
		ended "$pid"
		ok "a wait is ended by $how" test "$status" -gt 128 ;;
	esac
	ok "  no session is left" until_true 5000 test "$(sessions)" = 0
	ok "  and nobody waits" until_true 5000 nobody_waits
done

# By name, and what is refused.
bg sleep 150
sleeper=$pid
run lh session open --pid "$sleeper" job
is "$status $out" "0 job" "session open --pid, with a name"
run lh session open --pid "$sleeper" job
is "$status $out" "0 job" "  again for the same process"
run lh session open --pid $$ job
is "$status" 73 "  for another one: 73"
like "$err" "is not bound to process $$" "  says why"
run lh session destroy job
is "$status" 0 "  destroyed"
kill -KILL "$sleeper"
wait "$sleeper" 2>/dev/null
run lh session open --pid "$sleeper" job
is "$status" 76 "of a process that has ended: 76"
like "$err" "there is no process $sleeper, or it has ended" "  says so"
run lh acquire --for-pid "$sleeper" disk
is "$status" 76 "acquire, too: 76"
python3 -c 'import threading, time
t = threading.Thread(target=lambda: time.sleep(150), daemon=True)
t.start()
print(t.native_id, flush=True)
time.sleep(150)' >"$dir/thread" &
mind $!
until_true 5000 test -s "$dir/thread"
run lh acquire --for-pid "$(cat "$dir/thread")" disk
is "$status" 64 "a thread's number: 64"
like "$err" "is the number of a thread, not of a process" "  says so"
bad() {		# bad PART ARGUMENT...
	local want=$1

	shift
	run lh "$@"
	is "$status" 64 "64: $*"
	like "$err" "$want" "  says: $want"
}
bad "--for-pid: '0x1' is not" acquire --for-pid 0x1 k
bad "0 is no number of a process" acquire --for-pid 0 k
bad "neither with --session nor with --ttl" acquire --for-pid 1 --ttl 5s k
bad "neither with --session nor with --ttl" acquire --for-pid 1 --session x k
bad "without --ttl and --no-create" session open --pid 1 --ttl 5s
bad "takes no option of open" session renew --pid 1 x

finish
