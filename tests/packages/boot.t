#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 C2 and C3: a system of the packages is booted with systemd as its first
# process.  The machine's table is there, durable, for the group; the reaper's
# unit serves it.  The socket for collectors is off, and, when it is turned on as
# the manual says, a real Prometheus reads the metrics over loopback, with the
# rules and the dashboard of doc/examples/prometheus.  After another boot the
# table is new, and its tokens are larger.
#
# Otherwise the units would be right on paper, and a machine without its table
# after the first restart.
watch_s=2400
. "$(dirname "$0")/lib.sh"
make_system boot
copy_debs
apt update || bail "apt-get update"
ok "systemd and Prometheus" apt install systemd systemd-sysv dbus prometheus \
    curl jq procps iproute2
# shellcheck disable=SC2086
ok "our packages" apt install $ours
loud inside useradd -m member
loud inside usermod -aG leasehold member
loud inside useradd -m stranger
# there is no console, and Prometheus is for later
loud inside systemctl mask console-getty.service
loud inside systemctl disable prometheus.service
examples=/usr/share/doc/leasehold/examples/prometheus
ok "the examples are installed" inside test -f $examples/prometheus.yml
kill -KILL "$keeper"
until_true 10000 gone "$keeper"

# A control group of the second version that is nobody else's.
groups=$dir/groups
mkdir "$groups"
if ! mount -t cgroup2 cgroup "$groups" 2>/dev/null; then
	echo "Bail out! there are no control groups of the second version here"
	exit 1
fi
group=$groups/leasehold-boot.$$
leave_group() {
	local g

	kill_minded
	for _ in 1 2 3 4 5; do
		find "$group" -depth -type d 2>/dev/null | while read -r g; do
			rmdir "$g" 2>/dev/null
		done
		[ -d "$group" ] || break
		nap 500
	done
	umount "$groups"
	leave
}
trap leave_group EXIT

# What a careless system could change of this machine
machine() {
	stat -c '%n %a %U:%G' /dev/null /dev/zero /dev/full /dev/random \
	    /dev/urandom /dev/tty
	(cd /proc/sys && grep -s . fs/protected_* fs/file-max fs/nr_open \
	    kernel/core_pattern kernel/printk kernel/hostname vm/overcommit_memory \
	    vm/swappiness vm/max_map_count)
}
machine >"$dir/machine"
is_booted() {
	keeper=$(pgrep -P "$1" -x systemd) && [ -e "/proc/$keeper/root/run/entered" ]
}
has_answered() {
	[[ $(inside systemctl is-system-running) =~ ^(running|degraded)$ ]]
}
boot() {
	mkdir -p "$group"
	# shellcheck disable=SC2016
	bg sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' - "$group" \
	    unshare -mpiunCf --kill-child "$here/boot" "$root"
	until_true 60000 is_booted "$pid" || bail "systemd does not begin"
	mind "$keeper"
	until_true 120000 has_answered || diag "$(inside systemctl --failed)"
}
show() {	# UNIT PROPERTY
	inside systemctl show -P "$2" "$1"
}
is_active() {
	[ "$(show "$1" ActiveState)" = active ]
}
query() {	# EXPRESSION: what Prometheus says
	inside curl -sS -m 10 --data-urlencode "query=$1" \
	    http://127.0.0.1:9090/api/v1/query
}
value() {	# EXPRESSION: its one value
	query "$1" | jq -r '.data.result[0].value[1]'
}
value_is() {
	[ "$(value "$1")" = "$2" ]
}
value_above() {
	jq -en --arg v "$(value "$1")" --arg than "$2" \
	    '($v | tonumber) > ($than | tonumber)'
}

# (lib.sh's is for a system in the machine's network)
inside() {
	nsenter -t "$keeper" -m -u -i -n -p -r -w env -i HOME=/root \
	    LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

boot
is "$(inside cat /proc/1/comm)" systemd "systemd is the first process"
for u in leasehold-table leasehold-reaperd; do
	ok "$u.service is active" until_true 60000 is_active "$u.service"
	[ "$(show $u.service ActiveState)" = active ] ||
	    diag "$(inside journalctl -u "$u" --no-pager)"
done
is "$(inside systemctl list-units --failed --no-legend 'leasehold*')" "" \
    "no unit of ours failed"

# the table
is "$(inside stat -c '%a %U:%G' /dev/shm/leasehold.system/default.table)" \
    "660 root:leasehold" "the machine's table is the group's"
run inside leasehold stats --system --json
is "$(jq -r .fence_dir <<<"$out")" /var/lib/leasehold \
    "  durable"
serves() {
	[ "$(inside leasehold stats --system --json | jq -r .reaper_pid)" = \
	    "$(show leasehold-reaperd.service MainPID)" ]
}
ok "  and the reaper serves it" until_true 20000 serves
run inside_as member leasehold run --system --scope local k -- true
is "$status$err" 0 "a member of the group uses it, with tokens of the disk"
run inside_as stranger leasehold run --system k -- true
is "$status" 77 "another user does not: 77"
run inside systemctl restart leasehold-table
is "$status" 0 "the unit again: the table stays"
inside_as member leasehold run --system --scope local k -- sleep 3000 \
    </dev/null 3>&- &
is_there() {
	token=$(inside leasehold status --system --json k |
	    jq -r '.holders[0].token') && [ "$token" -gt 0 ]
}
ok "  and its key is held with a token" until_true 20000 is_there

# exposure
for u in leasehold-table leasehold-reaperd; do
	run inside systemd-analyze security --threshold=20 "$u.service"
	is "$status" 0 "the exposure of $u is at most 2.0"
	diag "$(grep Overall <<<"$out")"
done
run inside systemd-analyze verify leasehold-table.service \
    leasehold-reaperd.service leasehold-reaperd-metrics.socket
is "$(grep -i leasehold <<<"$err" | grep -v "Command 'man ")" "" \
    "systemd-analyze verify has nothing to say (there is no man here)"

# metrics over TCP
socket=leasehold-reaperd-metrics.socket
listeners() {
	inside ss -ltnH 'sport = :9745' | awk '{ print $4 }'
}
is "$(inside systemctl is-enabled $socket)" disabled "the socket is off"
is "$(listeners)" "" "  nothing listens"
for c in "stop leasehold-reaperd" "enable --now $socket" "start leasehold-reaperd"; do
	ok "systemctl $c" grep -qF "systemctl $c" doc/man/leasehold-reaperd.8
	# shellcheck disable=SC2086
	run inside systemctl $c
	is "$status" 0 "  as the manual says"
done
ok "  the daemon serves" until_true 20000 serves
is "$(listeners)" 127.0.0.1:9745 "  it listens on loopback alone"
is "$(show leasehold-reaperd.service RestrictAddressFamilies) $(show \
    leasehold-reaperd.service PrivateNetwork)" "AF_UNIX yes" \
    "  and the service may open no such socket"
run inside curl -sS -m 10 http://127.0.0.1:9745/metrics
like "$out" 'leasehold_keys_held{table="default"} 1' "the metrics are read"

# a real Prometheus
for f in prometheus.yml leasehold.rules.yml; do
	loud inside cp $examples/$f /etc/prometheus/
done
run inside promtool check config /etc/prometheus/prometheus.yml
is "$status" 0 "promtool check config"
run inside promtool test rules $examples/leasehold.rules.test.yml
is "$status" 0 "promtool test rules"
[ "$status" = 0 ] || diag "$out" "$err"
run inside sh -c 'curl -sS http://127.0.0.1:9745/metrics | promtool check metrics'
is "$status$out$err" 0 "promtool check metrics"
# it reads more often here
sed -i 's/_interval: 15s/_interval: 1s/' "$root/etc/prometheus/prometheus.yml"
run inside systemctl restart prometheus
is "$status" 0 "Prometheus is started"
ok "  and reads the metrics" until_true 60000 value_is 'up{job="leasehold"}' 1
ok "a key is held" until_true 20000 value_is leasehold_keys_held 1
inside_as member leasehold run --system -w 600s k -- true </dev/null 3>&- &
waiter=$!
ok "a waiter is seen" until_true 20000 value_is leasehold_waiters 1
ok "  and how long it waits" until_true 20000 value_above \
    leasehold_longest_wait_seconds 1
inside_as member leasehold run --system dies -- sleep 3000 </dev/null 3>&- &
ok "another key is held" until_true 20000 value_is leasehold_keys_held 2
inside pkill -KILL -u member -f 'run --system dies'
ok "its holder dies: the death is counted" until_true 20000 value_above \
    'leasehold_lost_total{reason="died"}' 0
ok "  and the key is free" until_true 20000 value_is leasehold_keys_held 1
run inside systemctl restart leasehold-reaperd
ok "after a restart of the daemon the port is served" until_true 20000 value_is \
    'up{job="leasehold"}' 1

# the rules and the dashboard
inside curl -sS http://127.0.0.1:9090/api/v1/rules |
    jq -r '.data.groups[].rules[].name' | sort >"$dir/rules"
is "$(cat "$dir/rules")" "$(sed -n 's/.*- alert: //p' \
    doc/examples/prometheus/leasehold.rules.yml | sort)" "Prometheus has each rule"
# shellcheck disable=SC2016
jq -r '.panels[].targets[].expr' doc/examples/prometheus/grafana-dashboard.json |
    sed 's/\$__rate_interval/1m/g; s/=~"\$[a-z]*"/=~".*"/g' >"$dir/exprs"
ok "the dashboard has panels" test "$(wc -l <"$dir/exprs")" -ge 15
has_result() {
	query "$1" | jq -e '.status == "success" and (.data.result | length) > 0'
}
while read -r e; do
	ok "  $e" until_true 30000 has_result "$e"
done <"$dir/exprs"
while read -r title; do
	ok "the alert's place is in operations.md: $title" grep -qE \
	    "^##+ $title" doc/operations.md
done < <(sed -n 's/.*runbook: "operations.md, \(.*\)"/\1/p' \
    doc/examples/prometheus/leasehold.rules.yml | sort -u)

# a backup, while everything runs
backup=$(sed -n '/^## Backup/,/^## /{/^cp /p}' doc/operations.md)
like "$backup" "cp -a /var/lib/leasehold " "operations.md says how to make a backup"
# shellcheck disable=SC2086
run inside ${backup/BACKUP//root/backup}
is "$status$err" 0 "  which works"
is "$(ls "$root"/root/backup/*.fence | wc -l)" \
    "$(ls "$root"/var/lib/leasehold/*.fence | wc -l)" "  with all fence files"

# another boot
kill "$waiter" 2>/dev/null
kill -KILL "$keeper"
until_true 20000 gone "$keeper"
boot
ok "after another boot the table is there" until_true 60000 is_active \
    leasehold-table.service
ok "  and served" until_true 60000 serves
run inside_as member leasehold run --system --scope local k -- sh -c \
    'echo $LEASEHOLD_FENCE'
is "$status" 0 "  nobody holds the key"
ok "  and its tokens are above those of before" test "$out" -gt "$token"
machine >"$dir/machine.now"
is "$(cat "$dir/machine.now")" "$(cat "$dir/machine")" \
    "the machine itself has its settings still"
finish
