#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/config.c: readers serve each configuration that is
# published.  A writer that has lost its lease publishes nothing, and one that dies
# leaves the present configuration as it is.
#
# Otherwise a late writer would put an old configuration in place of a new one.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-config
example config.c

has_served() {	# READER TEXT
	grep -q " $2\$" "$1.out"
}
texts() {
	cut -d ' ' -f 2 "$1.out" | tr '\n' ' '
}
start a ./config
start b ./config
echo red >red
run ./config red
is "$status" 0 "a configuration is published"
for r in a b; do
	ok "  reader $r serves it" until_true 20000 has_served $r red
done
echo green >green
run ./config green
ok "another one" until_true 20000 has_served b green
set -- config.[0-9]*
is $# 1 "  the file of the one before is removed"

# a writer that stops before it has published
echo late >late
: >stop
start writer ./config late
writer=$pid
ok "a writer stops" until_true 20000 is_stopped "$writer"
run lh break config
echo blue >blue
run ./config blue
is "$status" 0 "  and loses its lease: another one publishes"
kill -CONT "$writer"
ended "$writer"
is "$status" 1 "  the late one is refused"
like "$(cat writer.err)" "Stale" "  because its lease is lost"
ok "  it has its file still" test -e late
run lh value get config
is "$(cat "$out")" blue "  the other one's configuration is the present one"

# one that dies there
: >stop
start writer ./config late
ok "a writer dies" until_true 20000 is_stopped "$pid"
kill -KILL "$pid"
ended "$pid"
echo white >white
run ./config white
is "$status" 0 "  the next one publishes"
for r in a b; do
	ok "  reader $r serves it" until_true 20000 has_served $r white
	is "$(texts $r)" "$(texts $r | tr ' ' '\n' | grep -xv late | tr '\n' ' ')" \
	    "  and has never served the late one"
	is "$(cut -d ' ' -f 1 $r.out)" "$(cut -d ' ' -f 1 $r.out | sort -nu)" \
	    "  each has a larger version"
done
finish
