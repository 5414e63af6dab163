#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 D7, doc/examples/cluster-nightly.sh: of two hosts that start a nightly
# job one does it, and neither does it again that night.  A host that was stopped
# and comes back late replaces no later result.  Without the cluster nothing is done,
# which is an error of its own.
#
# Otherwise each host would do the job, or none, and nobody would know.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../command/examples.sh"
example cluster-nightly.sh "s/-w 10s/-w $(t_ms 2000)ms --ttl $(t_ms 4000)ms/"
mkdir shared
# a try on a busy machine is answered late
ttl_ms=$(t_ms 10000)
timeout_ms=$(t_ms 2000)
etcd_up 1
etcd=${members[1]}
host 1
host 2

# again COMMAND...: on a busy machine a shim may answer too late (69: nothing was
# done), so that a host tries once more
cat >again <<'END'
#!/bin/bash
for _ in {1..20}; do
	"$@"
	status=$?
	[ $status = 69 ] || break
done
exit $status
END
chmod +x again

# nightly HOST NAME COMMAND...: in the background
nightly() {
	start "$2" env LEASEHOLD_TABLE="${table[$1]}" ${again-"$dir/again"} \
	    "$dir/cluster-nightly.sh" "$dir/shared" "${@:3}"
}
results() {
	find shared -name 'result.*' | wc -l
}
newest() {
	printf '%s\n' shared/result.* | sort -t . -k 2,2 -k 3,3n | tail -n 1
}
nightly 1 one sh -c 'echo by one; sleep 0.5'
one=$pid
nightly 2 two sh -c 'echo by two; sleep 0.5'
two=$pid
ended "$one"
first=$status
ended "$two"
is "$first$status" 00 "two hosts start the job: both are content"
is "$(results)" 1 "  one has done it"
nightly 2 two echo again
ended "$pid"
is "$status$(results)" 01 "  it is not done again that night"
rm shared/result.*

# reader: a job that goes on when it may
mkfifo go-on
cat >job <<END
#!/bin/sh
cat "$dir/go-on" >/dev/null
echo late
END
chmod +x job
nightly 1 late "$dir/job"
late=$pid
has_new() {
	compgen -G 'shared/new.*'
}
ok "a host is at work" until_true 30000 has_new
nightly 2 two echo by two
ended "$pid"
is "$status$(results)" 00 "  another one is not needed"
wrapper=$(pgrep -P "$late")
wrapper=$(pgrep -o -P "$wrapper")
kill -STOP "$wrapper"
is_done() {
	nightly 2 two echo by two
	ended "$pid"
	[ "$(results)" = 1 ]
}
ok "  its processes are stopped: another host does the job" until_true 30000 is_done
command=$(pgrep -o -P "$wrapper")
echo >go-on
ok "  the late one ends its work" until_true 30000 gone "$command"
is "$(cat shared/result.* | sort | tr '\n' ' ')" "by two late " "  and writes its result"
is "$(cat "$(newest)")" "by two" "  the newest one is the other's"
kill -CONT "$wrapper"
ended "$late"
is "$status" 76 "  and it says that it had lost the key"
rm shared/result.*

kill -KILL "$etcd"
is_away() {
	again='' nightly 1 away echo by one
	ended "$pid"
	[ "$status" = 69 ]
}
ok "without etcd it fails with 69" until_true 30000 is_away
like "$(cat away.err)" "no cluster" "  and says why"
is "$(results)" 0 "  and has done nothing"
finish
