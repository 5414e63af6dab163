#!/bin/bash
# SPDX-License-Identifier: MIT
# Two hosts, one etcd: the command and processes exclude each other, tokens
# rise, readers read together; and status, list and explain answer.
. "$(dirname "$0")/lib.sh"
etcd_up 1
host 1
host 2

run lh_on 1 run cluster:k sh -c 'echo $LEASEHOLD_FENCE'
is "$status" 0 "host 1 runs under a key of the cluster"
first=$out
run lh_on 2 run cluster:k sh -c 'echo $LEASEHOLD_FENCE'
is "$status" 0 "host 2 after it"
ok "  with a larger token" test "$out" -gt "$first"
bg env LEASEHOLD_TABLE="${table[1]}" "$LEASEHOLD" run cluster:k sleep 60
holder=$pid
until_true 5000 is_held_on 1 cluster:k
run lh_on 2 run -n cluster:k true
is "$status" 75 "a try on host 2 meanwhile: busy"
like "$err" "key 'cluster:k' is busy: " "  and says which key"
run lh_on 2 run -w 300ms cluster:k true
is "$status" 75 "one that waits a little: busy"
between "$took" 300 $((300 + $(t_ms 1500))) "  after its time"
# A wait is in the queue of host 2 once its shim has answered, which holds the key
# there by then.  Here the answer takes a while.
cat >"$dir/slow.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>
ssize_t
recv(int fd, void *buf, size_t n, int flags)
{
	ssize_t (*next)(int, void *, size_t, int) =
	    (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");

	usleep(300000);
	return next(fd, buf, n, flags);
}
END
ok "recv(2) is made slow" cc -shared -fPIC -o "$dir/slow.so" "$dir/slow.c"
run env LD_PRELOAD="$dir/slow.so" LEASEHOLD_TABLE="${table[2]}" "$LEASEHOLD" \
    run -v -w 2s cluster:k true
like "$err" "waiting for 'cluster:k' (exclusive): held on another host: " \
    "one that waits says what for"
is "$(grep -c '0 of' <<<"$err")" 0 "  and claims no place that it has not"
run lh_on 2 run other true
is "$status" 0 "other keys are this host's alone"
kill -KILL "$holder"
run lh_on 2 run -w 10s cluster:k true
is "$status" 0 "its holder dies: host 2 has it"

contend 1 5 100 100
contend 1 5 100 100
contend 2 5 100 100
contend 2 5 100 100
judged 2000 "two hosts"
contend 1 3 200 100 shared
contend 1 3 200 2000
contend 2 3 200 100 shared
contend 2 3 200 2000
judged 200 "readers and writers"
for i in 1 2; do
	sound $i
	kill -TERM "${shims[$i]}"
	ended "${shims[$i]}"
	is "$status" 0 "its shim ends with 0"
	ok "  and leaves no socket" test ! -e "$dir/$i/${table[$i]}.sock"
done
is "$(curl -s -d '{"key":"AA==","range_end":"AA==","count_only":true}' \
    "http://127.0.0.1:${client[1]}/v3/kv/range" | jq -r '.count // 0')" 0 \
    "nothing is left in etcd"
finish
