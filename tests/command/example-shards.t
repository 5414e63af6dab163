#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/shards.c: of three workers one is killed and one is
# stopped with a shard each, and the third one does their jobs.  Each job is done,
# and a worker that comes later does none of them again.
#
# Otherwise jobs of a dead worker would wait for ever, or a late worker would set
# back how far its shard is done.
watch_s=300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/examples.sh"
table example-shards
example shards.c "s/2000/$(t_ms 1000)/"
for shard in 0 1 2 3; do
	for job in $(seq 0 24); do
		echo "shard $shard job $job"
	done >queue.$shard
done

positions() {
	local shard all=

	for shard in 0 1 2 3; do
		all+=$(lh value get "queue/$shard" 2>/dev/null)' '
	done
	echo "$all"
}
all_done() {
	[ "$(positions)" = '25 25 25 25 ' ]
}
# shellcheck disable=SC2012 # these names have no blanks
inodes() {
	ls -i done.*.* | sort
}

echo 5 >stop
start stopped ./shards 4
stopped=$pid
ok "a worker stops in the midst of a job" until_true 20000 is_stopped "$stopped"
echo 10 >stop
start killed ./shards 4
killed=$pid
ok "another one, too" until_true 20000 is_stopped "$killed"
kill -KILL "$killed"
ended "$killed"
start third ./shards 4
ok "the third one does all that is left" until_true 60000 all_done
for f in done.*.*; do
	IFS=. read -r _ shard job <<<"$f"
	echo "$f: $(cat "$f")" >>found
	echo "$f: shard $shard job $job" >>wanted
done
ok "each job has its result" cmp found wanted
is "$(wc -l <found)" 100 "  all of them"
inodes >before
kill -CONT "$stopped"
# it ends its job, and looks for others
echo "shard 0 job 25" >>queue.0
ok "the stopped one goes on, and a new job is done" until_true 20000 \
    test -e done.0.25
is "$(positions)" "26 25 25 25 " "  no shard is set back"
printf 'half of a job' >>queue.3
start late ./shards 4
nap 300
is "$(positions)" "26 25 25 25 " "half a line is no job"
inodes | comm -13 before - >new
between "$(wc -l <new)" 1 2 "a later worker does nothing again but the late job"
for p in "$stopped" "$pid"; do
	ok "worker $p goes on" kill -0 "$p"
done
finish
