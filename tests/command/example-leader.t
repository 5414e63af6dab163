#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/leader.c: the standby takes over from a leader that is
# killed, and from one that is stopped, with a larger token and with the state that
# was reported.  The stopped one finds its term ended.
#
# Otherwise two daemons would lead at once, or requests that were reported as done
# would be lost.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-leader
example leader.c
lh init --durable >init.out
start first ./leader first:1
first=$pid
ok "one leads" until_true 20000 has_printed first
start second ./leader second:2
second=$pid
ok "the other one stands by" until_true 20000 has_waiters leader 1
is "$(lh value get leader)" first:1 "  clients find who leads"
ok "  it has not led" test ! -s second.out

# a state is written, but not reported, when it is killed
ok "the leader is killed in the midst of a request" stops_there "$first"
kill -KILL "$first"
ended "$first"
ok "  the other one leads" until_true 20000 has_printed second
is "$(lh value get leader)" second:2 "  which clients find"

# the same, but stopped
start third ./leader third:3
ok "a third one stands by" until_true 20000 has_waiters leader 1
ok "the leader is stopped in the midst of a request" stops_there "$second"
ok "  the third one leads" until_true 20000 has_printed third
kill -CONT "$second"
ended "$second"
is "$status" 1 "  the stopped one ends when it goes on"
like "$(cat second.err)" "cannot go on: " "  because the gate refuses its term"
kill -KILL "$pid"
ended "$pid"
cat first.out second.out third.out >all
is "$(awk '$2 <= last { print } { last = $2 }' all)" "" \
    "each request is reported once, and each term goes on from the reported state"
is "$(cut -d ' ' -f 1 all | uniq | wc -l)" 3 "there were three terms"
is "$(cut -d ' ' -f 1 all | uniq)" "$(cut -d ' ' -f 1 all | sort -nu)" \
    "  each with a larger token"
finish
