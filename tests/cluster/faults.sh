# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the tests of the cluster break, on top of lib.sh:
#
#	watch_s=300
#	. "$(dirname "$0")/faults.sh"
#	net 3 2			# a network for three members and two hosts
#	etcd_up 3; hosts 2
#	cut m1; heal m1		# member 1 is cut off; and is not any more
#	disks 3			# instead: each member has a disk, to be frozen
#	cutter 1		# instead: host 1 loses answers, on command
#
# long N: N, ten times as much in the long form (LH_TEST_LONG=1).
#
# Everything that is made in the machine (namespaces, mounts) goes away at the
# end, however it comes.
. "$(dirname "$0")/lib.sh"

REAPERD=${REAPERD:-$top/build/release/leasehold-reaperd}
CUTTER=${CUTTER:-$top/build/release/tests/cluster/cutter}
must_run "$REAPERD" "$CUTTER"
forget LEASEHOLD_REAPERD_
spaces=()	# network namespaces
mounts=()

long() {
	if [ -n "${LH_TEST_LONG:-}" ]; then
		echo $(($1 * 10))
	else
		echo "$1"
	fi
}

# skip_all WHY
skip_all() {
	echo "1..0 # SKIP $1"
	finished=1
	exit 0
}

# reaper I: of host I
reaper() {
	mkdir -p "$dir/reaper$1"
	bg env RUNTIME_DIRECTORY="$dir/reaper$1" \
	    XDG_CONFIG_HOME="$dir/reaper$1" "$REAPERD" -f -t "${table[$1]}" \
	    2>/dev/null
	reapers[$1]=$pid
}

# hosts N: so many, with reapers
hosts() {
	local i

	for ((i = 1; i <= $1; i++)); do
		host $i
		reaper $i
	done
}

# all_well N [MS]: hosts 1 .. N can have the key, within so long
all_well() {
	local i

	for ((i = 1; i <= $1; i++)); do
		ok "host $i has the key" until_true "${2:-10000}" \
		    lh_on $i run -w 2s cluster:gate true
		sound $i
	done
}

# host_away I: as host, but its shim will not come to a session
host_away() {
	table "host$1"
	table[$1]=$LEASEHOLD_TABLE
	lh init --keys 1000 --sessions 64 --leases 8192 >/dev/null
	shim "$1"
	until_true 10000 logged "$1" "connects cluster keys"
}

# refused_with TEXT I NAME [STATUS [KEY]]: on host I a key of the cluster cannot
# be acquired, waiting or not: 69, and why
refused_with() {
	local how

	for how in -n "-w 5s"; do
		# shellcheck disable=SC2086
		run lh_on "$2" run $how "${5:-cluster:k}" true
		is "$status" "${4:-69}" "$3 ($how): ${4:-69}"
		like "$err" "$1" "  says why"
	done
	between "$took" 0 "$(t_ms 2500)" "  soon"
	diag "$err"
	run lh_on "$2" run local true
	is "$status" 0 "  keys of the host alone do not mind"
}

# logged I TEXT
logged() {
	grep -qF -- "$2" "$dir/$1/log"
}

# boot_ns: what contend has its times of
boot_ns() {
	local up

	read -r up _ </proc/uptime
	echo "${up/./}0000000"
}

# grants_of I FROM TO: how many host I was granted between two boot_ns
grants_of() {
	cat "$dir/grants.$1".* | awk -v from="$2" -v to="$3" \
	    '$1 > from && $1 < to { n++ } END { print n + 0 }'
}

# shim_stat I NAME: a number that host I's shim counts, 0 if it does not
shim_stat() {
	lh_on "$1" stats --shim | awk -v name="$2" \
	    'index($1, name) == 1 { n += $2 } END { print n + 0 }'
}

# Networks.

# space NAME N: a namespace with an address, on the hub
space() {
	local ns=lh$$.$1

	ip netns add "$ns" && spaces+=("$ns") || return 1
	ip -n "$ns" link set lo up
	ip -n "$hub" link add "v$1" type veth peer name eth0 netns "$ns" &&
	    ip -n "$hub" link set "v$1" master hub0 up &&
	    ip -n "$ns" addr add "10.99.0.$2/24" dev eth0 &&
	    ip -n "$ns" link set eth0 up
}

# net MEMBERS HOSTS: members m1.., hosts h1.., each on its own
net() {
	local i

	hub=lh$$.hub
	[ "$(id -u)" = 0 ] || skip_all "only root makes networks"
	command -v nft >/dev/null || skip_all "there is no nft"
	ip netns add "$hub" || skip_all "no network namespaces here"
	spaces+=("$hub")
	ip -n "$hub" link add name hub0 type bridge &&
	    ip -n "$hub" addr add 10.99.0.254/24 dev hub0 &&
	    ip -n "$hub" link set hub0 up || skip_all "no bridges here"
	for ((i = 1; i <= $1; i++)); do
		space "m$i" "$i" || skip_all "no veth here"
		addr[i]=10.99.0.$i
		member_in[i]="ip netns exec lh$$.m$i"
	done
	for ((i = 1; i <= $2; i++)); do
		space "h$i" $((100 + i)) || skip_all "no veth here"
		host_in[i]="ip netns exec lh$$.h$i"
	done
	curl_in=(ip netns exec "$hub")
	cut m1 && heal m1 || skip_all "nft cannot drop here"
}

# cut NAME [NAME...]: from these members or hosts, or from all
cut() {
	local ns=lh$$.$1 from= name

	shift
	for name; do
		case $name in
		m*) from=$from${from:+,}10.99.0.${name#m} ;;
		h*) from=$from${from:+,}10.99.0.$((100 + ${name#h})) ;;
		esac
	done
	ip netns exec "$ns" nft -f - <<-EOF
		table ip cut {
			chain in {
				type filter hook input priority 0;
				iif lo accept
				${from:+ip saddr { $from \}} drop
			}
			chain out {
				type filter hook output priority 0;
				oif lo accept
				${from:+ip daddr { $from \}} drop
			}
		}
	EOF
}

heal() {
	ip netns exec "lh$$.$1" nft delete table ip cut
}

# Disks.

# disks N: one for each member
disks() {
	local i d

	[ "$(id -u)" = 0 ] || skip_all "only root mounts disks"
	data=$(mktemp -d /dev/shm/leasehold-etcd.XXXXXX)
	member_flags=()
	for ((i = 1; i <= $1; i++)); do
		d=$data/disk$i
		mkdir "$d"
		truncate -s 200M "$d.img" &&
		    mkfs.ext4 -q -F "$d.img" &&
		    mount -o loop "$d.img" "$d" 2>/dev/null ||
			skip_all "no loop mounts of ext4 here"
		mounts+=("$d")
		data_of[i]=$d/data
	done
	freeze 1 && thaw 1 || skip_all "fsfreeze does not work here"
}

freeze() {
	fsfreeze -f "$data/disk$1"
}

thaw() {
	fsfreeze -u "$data/disk$1"
}

# Answers that are lost.

# cutter I: host I reaches member 1 through one
cutter() {
	local port

	free_ports 1
	port=$free
	bg "$CUTTER" "$port" "${client[1]}" "$dir/cutter$1" $((4711 + $1))
	cutters[$1]=$pid
	host_endpoints[$1]=http://127.0.0.1:$port
	until_true 5000 test -e "$dir/cutter$1"
}

clean_faults() {
	local p m ns

	for m in "${mounts[@]}"; do
		fsfreeze -u "$m" 2>/dev/null
	done
	kill_minded
	for p in "${!minded[@]}"; do
		wait "$p" 2>/dev/null
	done
	for m in "${mounts[@]}"; do
		umount "$m" 2>/dev/null || umount -l "$m"
	done
	for ns in "${spaces[@]}"; do
		[ "$ns" = "$hub" ] || ip -n "$ns" link del eth0 2>/dev/null
	done
	for ns in "${spaces[@]}"; do
		ip netns del "$ns"
	done
	clean_cluster
}
trap clean_faults EXIT
