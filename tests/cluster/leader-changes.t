#!/bin/bash
# SPDX-License-Identifier: MIT
# Three members, whose leader is killed, and stopped: nothing is held twice,
# and sessions that are long enough survive it.
. "$(dirname "$0")/lib.sh"
ttl_ms=$(t_ms 5000)
etcd_up 3
host 1
host 2

contend 1 12
contend 1 12
contend 2 12
contend 2 12
nap 1000
first=$(leader)
kill -KILL "${members[$first]}"
nap 4000
second=$(leader)
ok "another one leads" test -n "$second" -a "$second" != "$first"
member "$first"
until_true 10000 answers "$first"
second=$(leader)	# it may have changed
kill -STOP "${members[$second]}"
nap 3000
kill -CONT "${members[$second]}"
judged 500 "leader killed and stopped"
is "$(cat "$dir"/[12]/log | grep -c 'are lost')" 0 "no session was lost"
finish
