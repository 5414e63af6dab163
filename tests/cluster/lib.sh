# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the cluster share, on top of those of the command: real
# etcd, and hosts: each a table, a shim, and processes of its own.
#
#	. "$(dirname "$0")/lib.sh"
#	etcd 3			# members; $endpoints
#	host 1; host 2		# tables, and shims that are members
#	lh_on 1 run cluster:k true
#	contend 1 10; contend 2 10	# processes, for so many seconds
#	judged 1000		# when they have ended: at least so many grants
#	finish
#
# SHIMD is the daemon under test.
. "$(dirname "$0")/../command/lib.sh"

top=$here/../..
SHIMD=${SHIMD:-$top/build/release/leasehold-shimd}
CONTEND=${CONTEND:-$top/build/release/tests/cluster/contend}
must_run "$SHIMD" "$CONTEND" /usr/bin/etcd
forget LEASEHOLD_SHIMD_
unset NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID JOURNAL_STREAM
# of the session; longer than a busy machine keeps a process waiting
ttl_ms=$(t_ms 2000)
members=()	# pids
shims=()
endpoints=

# What tests/cluster/faults.sh or a test may say beforehand, by number:
member_in=()	# in front of the member's command, as "ip netns exec NAME"
host_in=()	# in front of the commands of a host
addr=()		# of a member; else 127.0.0.1
data_of=()	# a member's directory
host_endpoints=()	# else $endpoints
scheme=http
member_flags=(--unsafe-no-fsync)
curl_in=()	# from where members are asked
curl_as=()	# options for it
ports=		# of members: client, peer, client, ...; else free ones

# free_ports N: $free, which nobody listens at now, and nobody else is given as
# long as this test runs: they are bound to, so that only who asks for one by
# its number (and for SO_REUSEADDR) gets it
n_free=0
free_ports() {
	n_free=$((n_free + 1))
	bg perl -MSocket -e '
		for (1 .. $ARGV[0]) {
			my $s;
			socket($s, AF_INET, SOCK_STREAM, 0) &&
			    setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1) &&
			    bind($s, sockaddr_in(0, INADDR_LOOPBACK))
			    or die $!;
			push @s, $s;
			push @p, (sockaddr_in(getsockname $s))[0];
		}
		open(F, ">", "$ARGV[1].new") && (print F "@p\n") &&
		    close(F) && rename("$ARGV[1].new", $ARGV[1]) or die $!;
		sleep 1 while getppid == $ARGV[2]' \
		"$1" "$dir/ports$n_free" $$
	until_true 10000 test -e "$dir/ports$n_free" || {
		echo "Bail out! no ports"
		exit 1
	}
	free=$(<"$dir/ports$n_free")
}

# url I PORT: of member I
url() {
	echo "$scheme://${addr[$1]:-127.0.0.1}:$2"
}

# member I: start (again) member I
member() {
	local i=$1

	# with one processor Go does not look for work on the others
	# shellcheck disable=SC2086
	bg ${member_in[$i]:-} env GOMAXPROCS=1 GOGC=400 \
	    bash -c 'exec etcd "$@" >/dev/null 2>&1' - \
	    --name "n$i" --data-dir "${data_of[$i]:-$data/$i}" \
	    --listen-client-urls "$(url "$i" "${client[$i]}")" \
	    --advertise-client-urls "$(url "$i" "${client[$i]}")" \
	    --listen-peer-urls "http://${addr[$i]:-127.0.0.1}:${peer[$i]}" \
	    --initial-advertise-peer-urls \
	    "http://${addr[$i]:-127.0.0.1}:${peer[$i]}" \
	    --initial-cluster "$initial" --initial-cluster-token "t$$" \
	    --initial-cluster-state new --logger zap --pre-vote \
	    --heartbeat-interval 50 --election-timeout 500 \
	    "${member_flags[@]}"
	members[i]=$pid
}

# ask I PATH [CURL-OPTION...]: what member I says
ask() {
	local i=$1 path=$2

	shift 2
	"${curl_in[@]}" curl -s -m 1 "${curl_as[@]}" "$@" \
	    "$(url "$i" "${client[$i]}")/$path"
}

answers() {
	[[ $(ask "$1" health) == *true* ]]
}

# etcd N: a cluster of so many members
etcd_up() {
	local i p

	data=${data:-$(mktemp -d /dev/shm/leasehold-etcd.XXXXXX)}
	[ -n "$ports" ] || free_ports $((2 * $1))
	read -r -a p <<<"${ports:-$free}"
	initial=
	for ((i = 1; i <= $1; i++)); do
		client[i]=${p[2 * i - 2]}
		peer[i]=${p[2 * i - 1]}
		initial=$initial${initial:+,}n$i=http://
		initial=$initial${addr[i]:-127.0.0.1}:${peer[i]}
		endpoints=$endpoints${endpoints:+,}$(url "$i" "${client[i]}")
	done
	for ((i = 1; i <= $1; i++)); do
		member "$i"
	done
	for ((i = 1; i <= $1; i++)); do
		until_true 30000 answers "$i" || echo "Bail out! no etcd"
	done
}

# leader: the number of the member that leads; one may have to be elected, or
# to be let run
leader() {
	local i status end

	end=$(($(now_ms) + 10000))
	while [ "$(now_ms)" -lt $end ]; do
		for i in "${!members[@]}"; do
			status=$(ask "$i" v3/maintenance/status -d '{}')
			[[ $status =~ '"member_id":"'([0-9]+) ]] || continue
			[[ $status == *"\"leader\":\"${BASH_REMATCH[1]}\""* ]] &&
			    echo "$i" && return
		done
		nap 100
	done
}

# shim_with I COMMAND...: the shim of host I, in the background
shim_with() {
	local i=$1

	shift
	mkdir -p "$dir/$i"
	# shellcheck disable=SC2086
	bg ${host_in[$i]:-} env RUNTIME_DIRECTORY="$dir/$i" \
	    STATE_DIRECTORY="$dir/$i" \
	    XDG_CONFIG_HOME="$dir/$i" LEASEHOLD_SHIMD_TTL="${ttl_ms}ms" \
	    LEASEHOLD_SHIMD_TIMEOUT="${timeout_ms:-200}ms" \
	    LEASEHOLD_SHIMD_ENDPOINTS="${host_endpoints[$i]:-$endpoints}" \
	    LEASEHOLD_SHIMD_LOG_LEVEL=debug \
	    bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/$i/log" \
	    "$@" -f -t "${table[$i]}"
	shims[i]=$pid
}

shim() {
	shim_with "$1" "$SHIMD"
}

# has_session I: for the (N+1)th time
has_session() {
	[ "$(grep -c 'this host holds [0-9]* keys' "$dir/$1/log")" -gt \
	    "${2:-0}" ]
}

# host I: a table, and a shim that is a member
host() {
	table "host$1"
	table[$1]=$LEASEHOLD_TABLE
	lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null
	shim "$1"
	if ! until_true 30000 has_session "$1"; then
		echo "Bail out! host $1 has no session"
		cat "$dir/$1/log" >&3
		exit 1
	fi
}

# lh_on I ...: the command, on host I
lh_on() {
	local i=$1

	shift
	LEASEHOLD_TABLE=${table[$i]} "$LEASEHOLD" "$@"
}

# is_held_on I KEY: by a process, not by the shim, which has it while it is asked
# for
is_held_on() {
	lh_on "$1" status "$2" | grep '^holder' | grep -qv leasehold-shimd
}

# sound I...: the tables of these hosts
sound() {
	local i

	for i in "$@"; do
		LEASEHOLD_TABLE=${table[$i]} run lh fsck
		is "$status" 0 "table $i is sound"
	done
}

# what there is
keys_in_etcd() {
	ask 1 v3/kv/range -d '{"key":"AA==","range_end":"AA=="}' |
	    jq -r '.kvs[]? | "\(.key | @base64d) \(.create_revision)"'
}

# contend I SECONDS [HOLD-US [GAP-US [MODE]]]: for cluster:gate; of=KEY: that one
n_contend=0
contend() {
	local i=$1

	shift
	n_contend=$((n_contend + 1))
	# shellcheck disable=SC2086
	bg ${host_in[$i]:-} env GATE="$dir/gate${of:-}" \
	    "$CONTEND" "${table[$i]}" "cluster:${of:-gate}" "$1" \
	    "$dir/grants${of:-}.$i.$n_contend" "${2:-100}" "${3:-100}" \
	    "${4:-exclusive}"
	contenders+=("$pid")
}

# judged N [NAME]: no violations, seen from here and by the gate, and at least so
# many grants
judged() {
	local p g x t what=${2:-contended}

	for p in "${contenders[@]}"; do
		ended "$p"
	done
	contenders=()
	read -r _ g _ x _ t < <("$here/judge" "$dir/grants${of:-}".* 2>&3)
	is "$x" 0 "$what: no two had it at once"
	is "$t" 0 "$what: tokens rose"
	is "$(sed -n 's/^# grants.* refused \([0-9]*\) .*/\1/p' \
	    "$dir/grants${of:-}".* | grep -cv '^0$')" 0 \
	    "$what: the gate turned nobody away who had it"
	if [ "$g" -ge "$1" ]; then
		pass "$what: at least $1 grants"
	else
		fail "$what: at least $1 grants"
		diag "$(keys_in_etcd)"
	fi
	diag "$what: $g grants"
	grep -h '^# grants' "$dir/grants${of:-}".* | sed 's/^/  /' >&3
	rm -f "$dir/grants${of:-}".*
}

clean_cluster() {
	[ "$failed" = 0 ] || tail -n 60 "$dir"/[0-9]/log | sed 's/^/# /' >&3
	clean
	[ -z "${data:-}" ] || rm -rf "$data"
}
trap clean_cluster EXIT
