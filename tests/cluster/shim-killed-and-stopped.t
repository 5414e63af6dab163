#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 10
# A shim is killed and started again, stopped for longer than the session's
# time, stopped for a little: nothing is held twice, and all go on.
. "$(dirname "$0")/lib.sh"
etcd_up 1
host 1
host 2
seconds=$((ttl_ms * 7 / 1000))

contend 1 $seconds
contend 1 $seconds
contend 2 $seconds
contend 2 $seconds
nap "$ttl_ms"
adopted() {
	grep -qF ", adopted" "$dir/1/log"
}
for n in 1 2 3; do
	killed=$(now_ms)
	kill -KILL "${shims[1]}"
	nap 200
	shim 1
	ok "killed, started again: it has a session" \
	    until_true 10000 has_session 1 $n
	# or that was over before the next one was let run
	adopted || [ $(($(now_ms) - killed)) -lt $((ttl_ms / 2)) ] && break
done
ok "  adopted" adopted
nap "$ttl_ms"
kill -STOP "${shims[1]}"
nap $((ttl_ms / 2))
kill -CONT "${shims[1]}"
nap "$((ttl_ms / 2))"
kill -STOP "${shims[1]}"
nap $((ttl_ms * 2))
kill -CONT "${shims[1]}"
ok "stopped for long: it has another session" until_true 20000 has_session 1 $((n + 1))
judged 1000 "killed and stopped"
contend 1 2
contend 2 2
judged 100 "afterwards"
like "$(cat "$dir/1/log")" "leases of cluster keys are lost" "the log tells"
sound 1 2
finish
