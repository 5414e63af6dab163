#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 C3: the daemon answers at a TCP socket that the service manager has
# opened and passed, beside its own; it takes no other descriptor, and none that
# is meant for another process.
#
# Otherwise a collector could read the metrics over a network only if the daemon
# might open sockets of its own there, which its unit denies it.
watch_s=300
. "$(dirname "$0")/lib.sh"
table activation
real=$REAPERD

# passed_to NAME PID [N]: from now on the daemon gets a listener (or N copies of it),
# by that name and for that process ("" is itself), as from systemd; its port is in
# $dir/port
passed_to() {
	cat >"$dir/passed" <<-END
	#!/usr/bin/env python3
	import os, socket, sys
	s = socket.socket()
	s.bind(("127.0.0.1", 0))
	s.listen(8)
	open("$dir/port", "w").write(str(s.getsockname()[1]))
	n = ${3:-1}
	s = socket.socket(fileno=os.dup2(s.detach(), 3 + n))
	for fd in range(3, 3 + n):
	    os.dup2(s.fileno(), fd)
	s.close()
	os.environ.update(LISTEN_FDS=str(n), LISTEN_FDNAMES=":".join(["$1"] * n),
	                  LISTEN_PID="$2" or str(os.getpid()))
	os.execv("$real", ["leasehold-reaperd"] + sys.argv[1:])
	END
	chmod +x "$dir/passed"
	REAPERD=$dir/passed
}

# over_tcp PATH: what a client of that port gets, if it does within 10 s
over_tcp() {
	curl -sS -m 10 "http://127.0.0.1:$(cat "$dir/port")$1"
}

stop() {
	kill -TERM "$daemon"
	ended "$daemon"
	is "$status" 0 "  ends with 0"
}

passed_to metrics ""
reaperd
served
ok "it says that it has a socket of the manager's" logged \
    "metrics at 1 socket of the service manager"
bg "$LEASEHOLD" run -F --ttl 600s k sleep 600
until_true 5000 state_is k held
run over_tcp /metrics
is "$status" 0 "over TCP: a client is answered"
like "$out" "leasehold_keys_held{table=\"$LEASEHOLD_TABLE\"} 1" "  the metrics"
is "$(sed -n 's/^# TYPE //p' <<<"$out" | sort)" \
    "$(metrics | sed -n 's/^# TYPE //p' | sort)" "  those of the Unix socket"
run curl -sS -m 10 -o /dev/null -w '%{http_code}' \
    "http://127.0.0.1:$(cat "$dir/port")/etc"
is "$out" 404 "  another path: 404"
run "$LEASEHOLD" run -n w true
bg "$LEASEHOLD" run -w 100s k true
waits() {
	[ "$(metric leasehold_waiters)" = 1 ]
}
ok "a waiter is counted" until_true 5000 waits
kill -HUP "$daemon"
ok "the configuration is read again" until_true 5000 logged \
    "configuration read again"
run over_tcp /
like "$out" "leasehold_waiters" "  and clients are answered still"
stop
is "$(ls "$socket" 2>/dev/null)" "" "  and takes its own socket away"
run over_tcp /
is "$status" 7 "  nobody listens at the port"

LEASEHOLD_REAPERD_METRICS=off reaperd
run over_tcp /
like "$out" "leasehold_keys_held" "metrics = off: at the manager's socket alone"
ok "  and at no other" test ! -e "$socket"
stop

# more than it takes
passed_to metrics "" 5
reaperd
ok "of five sockets it leaves one, and says so" logged "those after the first 4"
run over_tcp /
like "$out" "leasehold_keys_held" "  and answers at the others"
stop

# what is not for it
passed_to other ""
reaperd
is "$(grep -c 'service manager' "$dir/log")" 0 "a socket of another name is left"
is "$(readlink "/proc/$daemon/fd/3" | sed 's/:.*//')" socket "  open, as it was"
stop
passed_to metrics 1
reaperd
is "$(grep -c 'service manager' "$dir/log")" 0 "so is that of another process"
stop
finish
