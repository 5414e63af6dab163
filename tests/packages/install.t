#!/bin/bash
# SPDX-License-Identifier: MIT
# Issue 24 E2: the packages are installed in a clean system, used, upgraded while
# locks are held and waited for, removed while one is held, installed again, and
# purged.  No holder and no waiter loses anything by that; what is purged leaves
# nothing but the fence files of a table that is still there.
#
# Otherwise an unattended upgrade in the night would end a lock, or stop a job that
# waits for one.
watch_s=1800
. "$(dirname "$0")/lib.sh"
make_system install
copy_debs
apt update || bail "apt-get update"

lease() {
	inside_as user leasehold "$@"
}
json() {	# KEY FILTER...
	lease status --json "$1" | jq -r "${@:2}"
}
# inside_bg USER COMMAND...: in the background.  $pid is our child, which ends as
# the command does; $inner is the command.
inside_bg() {
	bg nsenter -t "$keeper" -m -p -r -w setpriv --reuid "$1" --regid "$1" \
	    --init-groups --reset-env "${@:2}"
	until_true 5000 pgrep -P "$pid" || bail "$2 has not begun"
	inner=$(pgrep -P "$pid")
	mind "$inner"
}
# a reaper, as its unit would run it; $reaper, $reaper_pid
start_reaper() {
	inside install -d -o leasehold -g leasehold /run/reaper
	inside_bg leasehold env RUNTIME_DIRECTORY=/run/reaper \
	    /usr/sbin/leasehold-reaperd -f --system
	reaper=$inner reaper_pid=$pid
}
is_there() {
	[ "$(json "$1" '.holders | length' 2>/dev/null)" = 1 ]
}
waits_for() {
	[ "$(json "$1" '.waiters | length' 2>/dev/null)" = "$2" ]
}

# install
# shellcheck disable=SC2086
ok "the packages are installed" apt install $ours
is "$(inside dpkg-query -W -f '${Package} ${db:Status-Status}\n' $names |
    grep -vc ' installed$')" 0 "  all of them"
is "$(inside dpkg --audit)" "" "  wholly"
inside useradd -m user
run lease version
like "$out" "leasehold $upstream" "a user has the command"
run lease run -n nightly -- sh -c 'leasehold held nightly && echo done'
is "$status$out" 0done "  which runs a job"
like "$(inside ldconfig -p)" "-linux-gnu/libleasehold.so.0" \
    "the library is where the loader looks"
run inside_as user python3 -c 'import leasehold as l
with l.Table().acquire("py") as x: print(x.token > 0, l.__file__)'
is "$out" "True /usr/lib/python3/dist-packages/leasehold/__init__.py" \
    "the module for Python is found, and the library by it"
is "$(inside stat -c '%a %U:%G' /dev/shm/leasehold.system 2>/dev/null)" \
    "$(inside test -x /bin/systemd-tmpfiles && echo 755 root:root)" \
    "the machine's directory is made if systemd-tmpfiles is there"
is "$(inside id -un leasehold)" leasehold "the daemons' user is there"
for f in $(cd "$root" && ls lib/systemd/system/leasehold-*); do
	ok "$f names programs that are there" sh -c "sed -n \
	    's/^ExecStart[A-Za-z]*=+\\?\\([^ ]*\\).*/\\1/p' '$root/$f' |
	    while read -r p; do test -x '$root/'\$p || exit 1; done"
done
# each program finds its libraries
for p in bin/leasehold sbin/leasehold-reaperd sbin/leasehold-shimd; do
	is "$(inside ldd "/usr/$p" | grep -c 'not found')" 0 "/usr/$p: its libraries"
done

# of the machine, durable
run inside leasehold init --system --durable --group leasehold --mode 660
is "$status$err" 0 "root makes a durable table of the machine"
start_reaper
inside_bg root leasehold run --system machine -- sleep 3000
machine=$inner

# holders and waiters of the old version
inside_bg user leasehold run job -- sleep 3000
job=$inner
inside_bg user python3 -c 'import leasehold as l, sys, time
t = l.Table()
with t.lock("live", ttl=2) as lock:
    print("held", flush=True)
    while lock.valid: time.sleep(0.05)
print("lost", flush=True)'
live=$inner
ok "the command holds a key" until_true 10000 is_there job
ok "a program holds one that renews itself every second" \
    until_true 10000 is_there live
inside_bg user leasehold run job -- sh -c 'leasehold status --json job >/tmp/after'
waiter=$inner waiter_pid=$pid
ok "a job waits" until_true 10000 waits_for job 1
has_fences() {
	ls "$root"/var/lib/leasehold/*.fence >/dev/null 2>&1
}
facts() {
	json job -c '[.holders[0].pid, .holders[0].token, .waiters[0].pid]'
	json live -c '[.holders[0].pid, .holders[0].token]'
	inside leasehold status --system --json machine |
	    jq -c '[.holders[0].pid, .holders[0].token]'
}
facts >"$dir/facts"
is "$(grep -c '^\[[0-9",]*\]$' "$dir/facts")" 3 "who holds and waits, and the tokens"
inode=$(stat -c %i "$root"/usr/lib/*-linux-gnu/libleasehold.so.0)

# upgrade
newer=${version}+later
mkdir "$root/newer"
for d in $ours; do
	tree=$dir/newer
	rm -rf "$tree"
	dpkg-deb -R "$root$d" "$tree"
	sed -i "s/^Version: .*/Version: $newer/; s/(= $version)/(= $newer)/" \
	    "$tree/DEBIAN/control"
	loud dpkg-deb --root-owner-group -b "$tree" "$root/newer/$(basename "$d")"
done
ok "an upgrade" apt install ${ours//debs/newer}
is "$(inside dpkg-query -W -f '${Version}\n' $names | sort -u)" "$newer" \
    "  of all packages"
isnt "$(stat -c %i "$root"/usr/lib/*-linux-gnu/libleasehold.so.0)" "$inode" \
    "  the library is another file"
facts >"$dir/now"
is "$(cat "$dir/now")" "$(cat "$dir/facts")" \
    "the same processes hold and wait, with the same tokens"
sleep 3
facts >"$dir/now"
is "$(cat "$dir/now")" "$(cat "$dir/facts")" "  3 s later, too"
for p in "$job" "$waiter" "$live" "$machine" "$reaper"; do
	ok "  process $p goes on" kill -0 "$p"
done
ok "  one of them with the old library" sh -c \
    "grep -q 'libleasehold.*deleted' /proc/$live/maps"
run lease run -n job -- true
is "$status" 75 "the key is busy for a new process"
run lease run -n live -- true
is "$status" 75 "  also that of the program"
run inside leasehold run --system -n machine -- true
is "$status" 75 "  and that of the machine"
run inside_as user python3 -c 'import leasehold as l
print(l.Table().try_acquire("job"))'
is "$out" None "  by the new library, too"
token=$(json job '.holders[0].token')
kill -KILL "$live"
ok "a holder of the old version is killed: its key is free" \
    until_true 5000 lease run -n live -- true
kill -TERM "$job"
ended "$waiter_pid"
is "$status" 0 "the job ends: that which waited over the upgrade runs"
ok "  with a larger token" test "$(jq -r '.holders[0].token' \
    "$root/tmp/after")" -gt "$token"
run lease fsck
is "$status" 0 "the table is sound"
like "$out" "is sound" "  in words"

# the reaper of the new version in place of the old one
kill -TERM "$reaper"
ended "$reaper_pid"
is "$status" 0 "the old reaper ends"
start_reaper
is_served() {
	[ "$(inside leasehold stats --system --json | jq -r .reaper_pid)" != 0 ]
}
ok "  the new one serves the machine's table" until_true 10000 is_served
facts | tail -n 1 >"$dir/now"
is "$(cat "$dir/now")" "$(tail -n 1 "$dir/facts")" \
    "  whose holder is the same"

# remove, with a lock held
inside_bg user leasehold run job -- sleep 3000
job=$inner
ok "another job holds the key" until_true 10000 is_there job
was=$(json job '.holders[0].token')
# shellcheck disable=SC2086
ok "the packages are removed" apt remove $names
ok "  the command is gone" test ! -e "$root/usr/bin/leasehold"
is "$(ls "$root"/usr/lib/*/libleasehold.so.0 2>/dev/null)" "" \
    "  so is the library"
ok "  the job goes on" kill -0 "$job"
ok "  the fence files are there" has_fences
# shellcheck disable=SC2086
ok "they are installed again" apt install ${ours//debs/newer}
run lease run -n job -- true
is "$status" 75 "  the key is held still"
is "$(json job '.holders[0].token')" "$was" "  with the same token"
kill -TERM "$job"
ok "  and free when the job ends" until_true 5000 lease run -n job -- true

# purge, with a table of the machine
loud inside touch /etc/leasehold.conf
# shellcheck disable=SC2086
run inside apt-get -y purge $names
is "$status" 0 "the packages are purged"
like "$out$err" "/var/lib/leasehold is kept, because /dev/shm/leasehold.system" \
    "  the fence files of the machine's table are kept, which is said"
ok "  they are there" has_fences
is "$(find "$root" -xdev \( -path "$root/proc" -o -path "$root/debs" -o -path \
    "$root/newer" -o -path "$root/var/lib/leasehold" -o -path "$root/home" \) \
    -prune -o -name '*leasehold*' -print | sed "s,^$root,," | grep -v \
    '^/var/log/\|^/etc/leasehold.conf$' | sort | tr '\n' ' ')" "" "  nothing else is left"
ok "  but what the administrator wrote" test -e "$root/etc/leasehold.conf"
ok "  and the holder goes on" kill -0 "$machine"
# and without one
# shellcheck disable=SC2086
ok "installed once more" apt install ${ours//debs/newer}
kill -TERM "$machine" "$reaper"
until_true 5000 gone "$machine"
ended "$reaper_pid"
run inside leasehold rm --system
is "$status" 0 "the machine's table is removed"
ok "  purged again" apt purge leasehold-daemons leasehold
ok "  no fence files are left" test ! -e "$root/var/lib/leasehold"
finish
