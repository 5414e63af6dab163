#!/bin/bash
# SPDX-License-Identifier: MIT
# `leasehold top`: the busiest keys, printed and on a terminal of 80 columns and
# 24 lines.
#
# Otherwise an operator could not find the key that everybody waits for.
. "$(dirname "$0")/lib.sh"
table top

run lh top -b -n 1
is "$status" 1 "top without a table: 1"
like "$err" "no table '$LEASEHOLD_TABLE'" "  says so"
ok "  and makes none" test ! -e "$(object)"

lh run idle true
bg "$LEASEHOLD" run --ttl 60s long sleep 150
one=$pid
until_true 5000 is_held long
bg "$LEASEHOLD" run --ttl 60s wanted sleep 150
two=$pid
until_true 5000 is_held wanted
bg "$LEASEHOLD" run wanted true
bg "$LEASEHOLD" run wanted true
until_true 5000 has_waiters wanted 2
bg "$LEASEHOLD" run -s --ttl 60s read sleep 150
bg "$LEASEHOLD" run -s --ttl 60s read sleep 150
until_true 5000 has_holders read 2

run lh top -b -n 1
is "$status$err" 0 "top -b: 0"
like "$out" "table $LEASEHOLD_TABLE: 4 keys, 3 held, 2 waiting, 6 sessions" \
    "  the table"
like "$out" "a second: 0.0 acquired, 0.0 waits begun, 0.0 timed out" "  rates"
is "$(sed -n 4p <<<"$out" | tr -s ' ')" \
    "KEY WHO HELD WAITERS WAITED GRANTS/S" "  the heading"
is "$(sed -n '5,$p' <<<"$out" | awk 'NF {print $1}' | paste -sd,)" \
    "wanted,long,read" "  the longest queue first, nothing idle"
is "$(awk '$1 == "wanted" {print $2, $5, $8}' <<<"$out")" "sleep[$two] 2 0.0" \
    "  who, and how many wait"
like "$(grep ^read <<<"$out")" "2 readers" "  readers"
is "$(sed '3d;$d' <<<"$out" | awk '{print length}' | sort -u | paste -sd,)" \
    100 "  100 columns"
run lh top -b -n 1 --sort key
is "$(sed -n '5,$p' <<<"$out" | awk 'NF {print $1}' | paste -sd,)" \
    "long,read,wanted" "--sort key"
run lh top -b -n 1 --sort held
is "$(sed -n '5,$p' <<<"$out" | awk 'NF {print $1}' | head -1)" \
    "long" "--sort held"

# What is granted between two looks.
# (Grants after the second look may not be shown.)
two_looks() {
	local done i

	mkfifo "$dir/looks.$((++goes))"
	lh top --json -d 2s -n 2 >"$dir/looks.$goes" 2>&1 3>&- &
	mind $!
	exec 4<"$dir/looks.$goes"
	read -r -t 20 -u 4 first
	for i in {1..5}; do
		lh run idle true
	done
	done=$(now_ms)
	read -r -t 20 -u 4 second
	exec 4<&-
	[ "$(jq -r .time_ms <<<"$second")" -gt "$done" ]
}
goes=0
tries two_looks
between_ms=$(($(jq -r .time_ms <<<"$second") - $(jq -r .time_ms <<<"$first")))
is "$(jq -c '[.busy[].key]' <<<"$first")" '["wanted","long","read"]' \
    "--json: the first look"
is "$(jq -c --argjson ms "$between_ms" '.busy[] | select(.key == "idle") |
    [.holders, .waiters, (.grants_per_s * $ms / 1000 | . > 4.9 and . < 5.1)]' \
    <<<"$second")" "[0,0,true]" \
    "  a key that was granted meanwhile, and how often"
is "$(jq -c '[.acquired_per_s > 1, .table]' <<<"$second")" \
    "[true,\"$LEASEHOLD_TABLE\"]" "  and the table's rate"
is "$(jq -r '[.time_ms, .busy[0].token, .busy[0].held_ms] | map(type) |
    unique | @csv' <<<"$second")" '"string"' "  numbers of 64 bits are strings"

# A key that is not ASCII, and one that moves the cursor.
bg "$LEASEHOLD" run --ttl 60s "$(printf 'a\033[2Jb')" sleep 150
until_true 5000 is_held "$(printf 'a\033[2Jb')"
bg "$LEASEHOLD" run --ttl 60s 'schlüssel' sleep 150
until_true 5000 is_held 'schlüssel'
run lh top -b -n 1
like "$out" 'a\x1b[2Jb' "control bytes do not reach the terminal"
like "$(grep ^schl <<<"$out")" 'schlüssel                           ' \
    "columns are not bytes"
is "$(grep ^schl <<<"$out" | wc -m)" 101 "  but characters"

run lh top
is "$status" 64 "no terminal: 64"
like "$err" "print with -b" "  says what to do"

# On a terminal: the last picture, then q.
python3 - "$LEASEHOLD" >"$dir/drawn" 2>&1 <<'END'
import fcntl, os, pty, select, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], ["leasehold", "top", "-d", "100ms"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
seen = b""
end = time.monotonic() + 20
typed = 0
left = False
def read():
    global seen
    if not select.select([fd], [], [], 0.1)[0]:
        return True
    try:
        more = os.read(fd, 65536)
    except OSError:
        return False
    seen += more
    return bool(more)
while time.monotonic() < end and read():
    if typed == 0 and b"wanted" in seen and b"GRANTS/S" in seen:
        os.write(fd, b"k")
        typed = time.monotonic()
    elif typed and not left and time.monotonic() > typed + 0.5:
        os.write(fd, b"q")      # once: then nobody may be there
        left = True
if not left:
    os.kill(pid, 9)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print("status", status, "in time", time.monotonic() < end)
for what in b"table ", b"wanted", b"long", b"2 readers", b"GRANTS/S":
    print(what.decode(), what in seen)
print("left as it was", seen.rstrip().endswith(b"\x1b>") or b"\x1b[?1049l" in seen)
END
like "$(cat "$dir/drawn")" "status 0 in time True" "on a terminal: q ends it"
is "$(grep -c True "$dir/drawn")" 7 "  draws it, and leaves the screen as it was"
grep -q False "$dir/drawn" && diag "$(cat "$dir/drawn")"

run lh top --sort size
is "$status" 64 "an order that is none: 64"
run lh top k
is "$status" 64 "an argument: 64"
run timeout 5 "$LEASEHOLD" top -b -n 0
is "$status" 64 "a count of 0: 64"
run lh top -d x
is "$status" 64 "a delay that is none: 64"

"$LEASEHOLD" top -b -d 50ms >"$dir/seen" 2>&1 </dev/null 3>&- &
top=$!
mind "$top"
until_true 5000 grep -q KEY "$dir/seen"
lh rm --force
ended "$top"
is "$status" 69 "the table is removed: 69"
is "$(tail -1 "$dir/seen")" "leasehold: the table '$LEASEHOLD_TABLE' was removed" \
    "  says so"

finish
