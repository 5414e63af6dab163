#!/bin/bash
# SPDX-License-Identifier: MIT
# Secrets of leasehold-shimd.  A file with one is refused if others may read it
# or put another in its place, and the configuration if others may change it.  A
# password is never printed.  A warning comes before it goes unencrypted.  It is
# in memory once, where no core dump has it.
. "$(dirname "$0")/lib.sh"
table shimd-secrets
SHIMD=${SHIMD:-$here/../../build/release/leasehold-shimd}
must_run "$SHIMD"
forget LEASEHOLD_SHIMD_
export STATE_DIRECTORY=$dir/state
conf=$dir/conf
secret=s3cr3t-$$-pw
all=$dir/all		# everything that it printed

# checked: what -n says of the configuration
checked() {
	run "$SHIMD" -n -c "$conf"
	echo "$out$err" >>"$all"
}

refused() {
	checked
	is "$status" 78 "$1: 78"
	like "$err" "$2" "  why"
}

accepted() {
	checked
	is "$status$err" 0 "$1: good"
}

# Files.
echo "$secret" >"$dir/password"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout "$dir/key" -out "$dir/cert" -subj /CN=x -days 2 2>/dev/null
chmod 600 "$dir/password" "$dir/key"
cat >"$conf" <<EOF
endpoints = https://127.0.0.1:1
user = me
password_file = $dir/password
cert_file = $dir/cert
key_file = $dir/key
EOF
accepted "all for us alone"
for what in password key; do
	chmod 644 "$dir/$what"
	refused "$what: readable by others" "${what}_file: other users can read"
	chmod 602 "$dir/$what"
	refused "$what: writable by others" "other users can write to"
	chmod 600 "$dir/$what"
	chown 65534 "$dir/$what"
	refused "$what: somebody else's" "belongs to user 65534"
	chown 0 "$dir/$what"
	mkdir -p "$dir/open"
	chmod 777 "$dir/open"
	ln -sf "$dir/$what" "$dir/open/$what"
	sed -i "s|$dir/$what\$|$dir/open/$what|" "$conf"
	refused "$what: in a directory of all" "other users can replace"
	sed -i "s|$dir/open/$what\$|$dir/$what|" "$conf"
done
chmod 666 "$conf"
refused "configuration: writable by others" "other users can write to"
chmod 644 "$conf"
accepted "configuration: readable by others"
chown 65534 "$conf"
refused "configuration: somebody else's" "belongs to user 65534"
chown 0 "$conf"

# What is printed.
for e in "http://me:$secret@127.0.0.1:1" "me:$secret@127.0.0.1" \
    "https://a,https://$secret@b"; do
	run "$SHIMD" -n -e "$e"
	echo "$out$err" >>"$all"
	is "$status" 78 "a password in an endpoint of -e: 78"
	like "$err" "use user and password_file" "  says what to do"
	run env LEASEHOLD_SHIMD_ENDPOINTS="$e" timeout 10 "$SHIMD" -f
	echo "$out$err" >>"$all"
	is "$status" 78 "  of the environment: 78"
done
sed -i "s|^endpoints.*|endpoints = http://me:$secret@127.0.0.1:1|" "$conf"
refused "a password in an endpoint of the file" "use user and password_file"

# Unencrypted.
clear() {
	sed -i "s|^endpoints.*|endpoints = $1|" "$conf"
	checked
	is "$status" 0 "$1: good"
	is "$(echo "$err" | grep -c "is sent to the cluster unencrypted")" "$2" \
	    "  $2 warnings"
}
clear http://192.0.2.1:2379 1
clear http://127.0.0.1:1 0
clear https://192.0.2.1:2379 0

# While it runs.
: >"$dir/log"
chmod 711 "$dir"
sed -i "s|^endpoints.*|endpoints = http://127.0.0.1:1|" "$conf"
bg bash -c 'log=$1; shift; exec "$@" 2>>"$log"' - "$dir/log" \
    "$SHIMD" -f -v -c "$conf"
shim=$pid
until_true 5000 logged "is unreachable"
is "$(awk '/core file/ { print $5 $6 }' "/proc/$shim/limits")" 00 "no core file"
is "$(perl -e '
	my ($pid, $secret) = @ARGV;
	my ($kept, $dumped) = (0, 0);
	open(my $m, "<", "/proc/$pid/mem") or die;
	open(my $s, "<", "/proc/$pid/smaps") or die;
	my ($from, $to);
	while (<$s>) {
		($from, $to) = (hex $1, hex $2) if /^(\w+)-(\w+) r/;
		($from, $to) = (0, 0) if /^\w+-\w+ -/;
		next unless /^VmFlags:(.*)/ && $to;
		my ($flags, $text) = ($1, "");
		sysseek($m, $from, 0);
		sysread($m, $text, $to - $from);
		my $n = () = $text =~ /\Q$secret\E/g;
		$flags =~ / dd/ ? ($kept += $n) : ($dumped += $n);
	}
	print "$kept $dumped\n"' "$shim" "$secret")" "1 0" \
    "the password is in memory once, and not where it is dumped"
kill -HUP "$shim"
until_true 5000 logged "configuration read again"
kill -TERM "$shim"
ended "$shim"
cat "$dir/log" >>"$all"
is "$(grep -c "$secret" "$all")" 0 "the password is printed nowhere"

# As another user, so that root's rights do not hide it: nobody of that user may
# look into its memory.
mkdir "$dir/nobody"
cp "$SHIMD" "$dir/nobody/shimd"
chown -R 65534:65534 "$dir/nobody"
bg env -u STATE_DIRECTORY HOME="$dir/nobody" \
    RUNTIME_DIRECTORY="$dir/nobody" XDG_STATE_HOME="$dir/nobody" \
    setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$dir/nobody/shimd" -f -t "$LEASEHOLD_TABLE" -e http://127.0.0.1:1
until_true 5000 test -S "$dir/nobody/$LEASEHOLD_TABLE.sock"
is "$(stat -c %u "/proc/$pid/environ")" 0 "it is not dumpable"
kill -KILL "$pid"
setpriv --reuid 65534 --regid 65534 --clear-groups \
    "$LEASEHOLD" rm --force >/dev/null 2>&1

finish
