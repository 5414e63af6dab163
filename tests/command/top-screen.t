#!/bin/bash
# SPDX-License-Identifier: MIT
# test: slow 8
# Issue 24 C4: `leasehold top` on a terminal: colours, a filter, and one key with
# its holders and waiters; the same filter where it prints.
#
# Otherwise an operator could see in a table of many keys that somebody waits, and
# not who, and would have to leave it and ask again.
. "$(dirname "$0")/lib.sh"
table top-screen

bg "$LEASEHOLD" run --ttl 600s db/nightly sleep 600
holder=$pid
begun "$holder"
bg "$LEASEHOLD" run --ttl 600s mail sleep 600
begun "$pid"
bg "$LEASEHOLD" run -w 600s --info 'the second copy' db/nightly true
waiter=$pid
until_true 5000 has_waiters db/nightly 1

# printed
keys() {
	awk 'NR > 4 && NF { print $1 }' <<<"$out" | sort | paste -sd,
}
run lh top -b -n 1 -f db/
is "$status$(keys)" "0db/nightly" "--filter: keys that contain it"
like "$out" "2 keys, 2 held, 1 waiting" "  the counts are of the whole table"
run lh top -b -n 1 --filter nothing
is "$status$(keys)" 0 "  no key contains it: no line"
run lh top --json -n 1 --filter mai
is "$(jq -c '[.held, [.busy[].key]]' <<<"$out")" '[2,["mail"]]' "  as JSON"
run lh top -b -n 1 --filter "$(printf '%064d' 0)"
is "$status" 64 "  too long: 64"

# typed TERM=VALUE...: plays what a user types, and prints what was seen
typed() {
	env "$@" python3 - "$LEASEHOLD" <<'END'
import fcntl, os, pty, select, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], ["leasehold", "top", "-d", "100ms"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
seen = b""
mark = 0
end = time.monotonic() + 60
def until(what):
    """Reads until the text is drawn, since the last key was typed."""
    global seen
    while what not in seen[mark:] and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    print(what.decode(), "seen" if what in seen[mark:] else "missing")
def type(keys):
    global mark
    mark = len(seen)
    os.write(fd, keys)
until(b"GRANTS/S")
type(b"/")
until(b"keys with: ")
type("nä\x7figh\n".encode())
until(b"/: change it")
type(b"\n")
until(b"is held by")
until(b"the second copy")
type(b"\x1b")
until(b"GRANTS/S")
type(b"\x1b")
until(b"arrows and Enter")
type(b"q")
while time.monotonic() < end:
    try:
        more = os.read(fd, 65536)
    except OSError:
        break
    if not more:
        break
    seen += more
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print("green", b"\x1b[32m" in seen, "yellow or red",
      b"\x1b[33m" in seen or b"\x1b[31m" in seen)
END
}
typed TERM=xterm >"$dir/typed" 2>&1
is "$(grep -c ' seen$' "$dir/typed")" 7 "each step of the user is answered"
grep -q missing "$dir/typed" && diag "$(cat "$dir/typed")"
like "$(cat "$dir/typed")" "status 0" "  and q ends it"
like "$(cat "$dir/typed")" "green True yellow or red True" \
    "a key that is held is green, and one that is waited for yellow, or red"
typed TERM=xterm NO_COLOR=1 >"$dir/typed" 2>&1
like "$(cat "$dir/typed")" "green False yellow or red False" "NO_COLOR: no colours"
is "$(grep -c ' seen$' "$dir/typed")" 7 "  but the same steps"
# without a terminal, though SIGHUP is ignored
run env TERM=xterm timeout -k 1 60 python3 - "$LEASEHOLD" <<'END'
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.execv(sys.argv[1], ["leasehold", "top", "-d", "100ms"])
os.read(fd, 100)
os.close(fd)
os.waitpid(pid, 0)
END
is "$status" 0 "top ends when its terminal is gone"
kill -0 "$holder" && kill -0 "$waiter" || fail "the holder and the waiter go on"
finish
