#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test: slow 10
"""On a terminal: ^C, ^Z and fg, pipelines, progress, colours.

A real shell with job control runs on a pseudo-terminal; what is typed and what
appears goes through its master side, so that the keys are the kernel's.
"""
import glob
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

LEASEHOLD = os.path.abspath(os.environ.get("LEASEHOLD") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    "../../build/release/leasehold"))
SLOW = int(os.environ.get("LH_TEST_SLOW", "1"))
TABLE = "test-terminal.%d" % os.getpid()
COUNTER = "/tmp/leasehold-counter.%d.py" % os.getpid()
tested = failed = 0


def ok(held, name, *why):
    global tested, failed
    tested += 1
    print("%sok %d - %s" % ("" if held else "not ", tested, name), flush=True)
    if not held:
        failed += 1
        for w in why:
            print("# " + repr(w), file=sys.stderr)


def environment(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("LEASEHOLD_") and k != "NO_COLOR"}
    env.update(LEASEHOLD=LEASEHOLD, LEASEHOLD_TABLE=TABLE, TERM="xterm",
               LC_ALL="C.UTF-8", PS1="READY> ", SHELL="/bin/sh")
    env.update(more)
    return env


def status(key):
    p = subprocess.run([LEASEHOLD, "status", "--json", key],
                       env=environment(), stdout=subprocess.PIPE, check=False)
    return json.loads(p.stdout)


def until(fn, seconds=10):
    end = time.monotonic() + seconds * SLOW
    while time.monotonic() < end:
        if fn():
            return True
        time.sleep(0.01)
    return fn()


def held(key):
    return until(lambda: status(key)["state"] == "held")


def free(key):
    return until(lambda: status(key)["state"] != "held")


def foreground(sh, name):
    """Is a process of that name in the foreground of its terminal?"""
    try:
        with open("/proc/%d/comm" % os.tcgetpgrp(sh.fd),
                  encoding="utf-8") as f:
            return f.read().strip() == name
    except OSError:
        return False


def process_state(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return None


class Shell:
    """bash with job control on a terminal of its own."""

    def __init__(self, **env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       environment(**env))
        self.text = ""
        self.expect("READY> ")

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            self.text += os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            return False
        return True

    def expect(self, pattern, seconds=10):
        """Up to the pattern; what came before it, or None."""
        end = time.monotonic() + seconds * SLOW
        while True:
            m = re.search(pattern, self.text)
            if m:
                before = self.text[:m.end()]
                self.text = self.text[m.end():]
                return before
            if time.monotonic() > end:
                print("# wanted %r, got %r" % (pattern, self.text),
                      file=sys.stderr)
                return None
            self.read(0.05)

    def type(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.type(text + "\n")
        self.expect(re.escape(text[-20:]) + r"\s*\r?\n")

    def close(self):
        try:
            os.close(self.fd)
        except OSError:
            pass
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass
        os.waitpid(self.pid, 0)


def ctrl_c():
    sh = Shell()
    sh.line('"$LEASEHOLD" run k sleep 150; echo "rc=$?"')
    ok(held("k"), "a holder on a terminal")
    sh.type("\x03")
    out = sh.expect(r"rc=\d+")
    ok(out is not None and out.endswith("rc=130"), "^C ends it: 130", out)
    ok(free("k"), "  and the key is free")

    # Taken one by one: a second one, some ms later, would be counted.
    with open(COUNTER, "w", encoding="ascii") as f:
        f.write("import signal as s\n"
                "s.pthread_sigmask(s.SIG_BLOCK, [s.SIGINT])\n"
                "print('counting', flush=True)\n"
                "n = 0\n"
                "while s.sigtimedwait([s.SIGINT], 0.5 if n else 20):\n"
                "    n += 1\n"
                "print('caught', n)\n")
    sh.line('"$LEASEHOLD" run k python3 %s; echo "rc=$?"' % COUNTER)
    sh.expect("counting")
    sh.type("\x03")
    out = sh.expect(r"rc=\d+")
    ok(out is not None and "caught 1" in out and out.endswith("rc=0"),
       "^C reaches a command that catches it, once", out)

    # A waiter.
    p = subprocess.Popen([LEASEHOLD, "run", "k", "sleep", "60"],
                         env=environment())
    held("k")
    sh.line('"$LEASEHOLD" run k touch /nonexistent/x; echo "rc=$?"')
    until(lambda: len(status("k")["waiters"]) == 1)
    sh.type("\x03")
    out = sh.expect(r"rc=\d+")
    ok(out is not None and out.endswith("rc=130"), "^C ends a waiter: 130",
       out)
    ok(not status("k")["waiters"], "  which leaves no trace")
    p.terminate()
    p.wait()
    sh.close()


def ctrl_z():
    sh = Shell()
    sh.line('"$LEASEHOLD" run --ttl 20s k sleep 150')
    held("k")
    sh.type("\x1a")
    ok(sh.expect(r"Stopped") is not None, "^Z stops the job")
    pid = status("k")["holders"][0]["pid"]
    ok(process_state(pid) == "T", "  we are stopped", process_state(pid))
    ok(status("k")["state"] == "held", "  the lease runs on")
    sh.line("bg")
    ok(until(lambda: process_state(pid) == "S"), "bg continues it")
    sh.line("fg")
    until(lambda: foreground(sh, "leasehold"))
    ok(status("k")["state"] == "held", "fg: still held")
    sh.type("\x03")
    sh.expect("READY> ")
    ok(free("k"), "^C after fg ends it")

    ms = 3000 * SLOW
    sh.line('"$LEASEHOLD" run --ttl %dms k sleep 150' % ms)
    held("k")
    sh.type("\x1a")
    sh.expect(r"Stopped")
    time.sleep(ms * 1.5 / 1000)
    ok(status("k")["state"] == "free", "^Z past the deadline: others may")
    sh.line('fg; echo "rc=$?"')
    out = sh.expect(r"rc=\d+")
    ok(out is not None and out.endswith("rc=76"), "  fg: lost, 76", out)
    sh.close()


def pipelines():
    sh = Shell()
    sh.line("\"$LEASEHOLD\" run k sh -c 'read x; echo got $x' | cat; "
            "echo \"rc=${PIPESTATUS[0]}\"")
    held("k")
    sh.type("hello\n")
    out = sh.expect(r"rc=\d+")
    ok(out is not None and "got hello" in out and out.endswith("rc=0"),
       "a command in a pipeline can read the terminal", out)
    sh.line("echo piped | \"$LEASEHOLD\" run k sh -c 'cat; read x </dev/tty; "
            "echo got $x'; echo \"rc=$?\"")
    sh.expect("piped")
    sh.type("world\n")
    out = sh.expect(r"rc=\d+")
    ok(out is not None and "got world" in out and out.endswith("rc=0"),
       "also through /dev/tty", out)
    sh.line('"$LEASEHOLD" run k bash --norc --noprofile -i')
    sh.expect("READY> ")
    sh.line("echo inner $LEASEHOLD_KEY")
    ok(sh.expect("inner k") is not None, "a shell with job control inside")
    sh.line("sleep 150")
    until(lambda: foreground(sh, "sleep"))
    sh.type("\x03")
    sh.expect("READY> ")
    ok(status("k")["state"] == "held", "  ^C inside it is its own affair")
    sh.line("exit 5")
    sh.expect("READY> ")
    sh.line('echo "rc=$?"')
    out = sh.expect(r"rc=\d+")
    ok(out is not None and out.endswith("rc=5"), "  its exit status", out)
    sh.close()


def hangup():
    sh = Shell()
    sh.line('"$LEASEHOLD" run k sleep 150')
    held("k")
    sh.close()
    ok(free("k"), "the terminal goes away: the key is free")


def progress():
    p = subprocess.Popen([LEASEHOLD, "run", "k", "sleep", "60"],
                         env=environment())
    held("k")
    for _ in range(3):      # it is a matter of the scheduler, too
        sh = Shell()
        sh.line('"$LEASEHOLD" run -v -w %ds k true; echo "rc=$?"' % (3 * SLOW))
        out = sh.expect(r"rc=\d+") or ""
        sh.close()
        lines = out.count("\r\x1b[Kwaiting for 'k' (exclusive) since")
        if 2 <= lines <= 4 * SLOW:
            break
    ok(2 <= lines <= 4 * SLOW, "-v: progress about once a second", out)
    ok("held by sleep[%d] for" % p.pid in out, "  names the holder", out)
    ok("\x1b[1mleasehold:\x1b[0m" in out, "messages are coloured", out)
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        sh = Shell(**env)
        sh.line('"$LEASEHOLD" list; "$LEASEHOLD" run -n k true; echo "rc=$?"')
        out = sh.expect(r"rc=\d+") or "\x1b["
        ok("leasehold: " in out and "\x1b[1m" not in out,
           "no colours with %s" % env, out)
        sh.close()
    p.terminate()
    p.wait()


def stuck_reader():
    """^S stops the terminal; -v must not stop the renewals."""
    ms = 6000 * SLOW
    sh = Shell()
    sh.line("stty -ixany")
    sh.expect("READY> ")
    sh.line('"$LEASEHOLD" run -v --ttl %dms k sleep 150' % ms)
    held("k")
    sh.type("\x13")
    pid = status("k")["holders"][0]["pid"]
    time.sleep(ms * 2.5 / 1000)
    ok(status("k")["state"] == "held" and
       status("k")["holders"][0]["pid"] == pid,
       "a stopped terminal does not stop renewals")
    os.kill(pid, signal.SIGTERM)
    ok(free("k"), "  nor the end")
    sh.type("\x11")
    sh.close()


def full_pipe():
    """Messages that nobody reads: a waiter still hears its signal."""
    holder = subprocess.Popen([LEASEHOLD, "run", "k", "sleep", "60"],
                              env=environment())
    held("k")
    r, w = os.pipe()
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(w, True)
    p = subprocess.Popen([LEASEHOLD, "run", "-v", "k", "true"],
                         env=environment(), stderr=w)
    until(lambda: len(status("k")["waiters"]) == 1)
    time.sleep(0.3)         # it has something to say by now
    p.terminate()
    try:
        rc = p.wait(10 * SLOW)
    except subprocess.TimeoutExpired:
        rc = None
        p.kill()
        p.wait()
    ok(rc == 143, "a full pipe does not make a waiter deaf", rc)
    os.close(r)
    os.close(w)
    holder.terminate()
    holder.wait()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
signal.signal(signal.SIGALRM, lambda *_: sys.exit("killed by the watchdog"))
signal.alarm(120 * SLOW)
try:
    if not os.access(LEASEHOLD, os.X_OK):
        print("Bail out! LEASEHOLD=%s cannot be run" % LEASEHOLD)
        sys.exit(1)
    ctrl_c()
    ctrl_z()
    pipelines()
    hangup()
    progress()
    stuck_reader()
    full_pipe()
    print("1..%d" % tested)
finally:
    for path in ("/dev/shm/leasehold.%d/%s.table" % (os.getuid(), TABLE), COUNTER):
        try:
            os.unlink(path)
        except OSError:
            pass
    for path in glob.glob("/dev/shm/leasehold.%d/%s.live.*" % (os.getuid(), TABLE)):
        os.unlink(path)
sys.exit(failed != 0)
