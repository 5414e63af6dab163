#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/cron-guard.sh: a run is skipped in silence while
# another one is at work.  After a run that is killed the next one starts; after
# one that is stopped, too, and the late report is refused and read by nobody.
#
# Otherwise two runs would be at work at once, or a late one would replace a newer
# report by its old one.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-cron
example cron-guard.sh "s/--ttl 1m/--ttl $(t_ms 2000)ms/"
lh init --durable >init.out
mkdir reports

guard() {	# COMMAND...
	"$dir/cron-guard.sh" "$dir/reports" "$@"
}
newest() {
	printf '%s\n' reports/report.[0-9]* | sort -t . -k 2n | tail -n 1
}
run guard echo one
is "$status$err" 0 "a run publishes its report"
is "$(cat "$(newest)")" one "  which is the newest"

start job ./cron-guard.sh "$dir/reports" sleep 1000
ok "another run is at work" until_true 20000 is_held report
run guard echo two
is "$status$out$err" 0 "  the next one is skipped, without a word"
is "$(cat "$(newest)")" one "  and has published nothing"
begun "$pid"
has_new() {
	compgen -G 'reports/new.*'
}
until_true 20000 has_new
mind "$(pgrep -P "$command")"	# it lives on, with the key
slain "$pid"
# what the job has begun holds the key until it ends, or until the deadline
publishes() {
	nap 200
	guard echo "$1"
	[ "$(cat "$(newest)")" = "$1" ]
}
ok "the run is killed: a later one publishes its report" \
    until_true 20000 publishes three
is "$(printf '%s\n' reports/report.[0-9]* | wc -l)" 1 "  and removes older ones"

# a run that is stopped, all of it, behind its first look at the gate
mkfifo go-on
rm -f reports/new.*
cat >reader <<'END'
#!/bin/sh
cat "$1/go-on"
echo late
END
chmod +x reader
start late ./cron-guard.sh "$dir/reports" "$dir/reader" "$dir"
wrapper=$pid
ok "a run is at work" until_true 20000 has_new
kill -STOP "$wrapper"
ok "  and is stopped: a later one publishes" until_true 20000 publishes four
command=$(pgrep -o -P "$wrapper")
echo >go-on
ok "  the late one ends" until_true 20000 gone "$command"
kill -CONT "$wrapper"
ended "$wrapper"
isnt "$status" 0 "  and fails"
like "$(cat late.err)" "does not count" "  because the gate has seen a later run"
is "$(cat "$(newest)")" four "  the newest report is the other one's"
finish
