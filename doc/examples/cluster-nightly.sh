#!/bin/sh
# SPDX-License-Identifier: MIT
# A nightly job of a cluster: started on every host, done by one of them.
#
# Use it when a job must be done once for several hosts, and any of them may be
# down.  Hosts that are not needed leave with 0; one that cannot reach the
# cluster does nothing, and says so with 69.  Each result has the fencing token
# in its name, so that a host that was paused and comes back late replaces no
# later result.
#
#	leasehold-shimd -e http://etcd.example:2379	# on each host
#	0 3 * * *  cluster-nightly.sh /mnt/shared make-report
set -eu
if ! leasehold held cluster:nightly; then
	status=0
	# not -n: a host may take a moment to return a key that it has finished with
	leasehold run -q -w 10s cluster:nightly -- "$0" "$@" || status=$?
	case $status in
	75)	exit 0 ;;	# another host is at it
	69)	echo "$0: no cluster, so nothing was done here" >&2 ;;
	76)	echo "$0: the key was lost: another host may have begun" >&2 ;;
	esac
	exit "$status"
fi

cd "$1"
shift
night=$(date -u +%F)
for result in "result.$night".*; do
	[ ! -e "$result" ] || exit 0	# another host has been quicker
done
new=new.$night.$LEASEHOLD_FENCE
trap 'rm -f "$new"' EXIT
"$@" >"$new"
mv "$new" "result.$night.$LEASEHOLD_FENCE"
# readers use the last one of: printf '%s\n' result.* | sort -t . -k 2,2 -k 3,3n
