#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# test: slow 25
"""Every answer is true: random histories of all operations by several
processes.  After each step every question is asked in each way (library,
command, JSON, log), and the answers are compared with a model that has seen
the history.  Answers about the present must be equal; those about the past
must be equal, or "unknown".

    answers.t [SEED [STEPS]]    one history, printed as it goes"""

import json
import os
import random
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bindings/python"))
sys.dont_write_bytecode = True
os.environ.setdefault("LEASEHOLD_LIBRARY", os.path.join(
    HERE, "../../build/release/libleasehold.so"))

import leasehold
from leasehold import EXCLUSIVE, SHARED

COMMAND = os.environ.get("LEASEHOLD", os.path.join(
    HERE, "../../build/release/leasehold"))
SLOW = int(os.environ.get("LH_TEST_SLOW", "1"))
KEYS = ["a", "b", "c, d"]
SESSIONS = ["s1", "s2"]
MODE = {EXCLUSIVE: "exclusive", SHARED: "shared"}
SHORT = 0.15 * SLOW             # a ttl that is allowed to end


# --- an actor: a process that follows commands ------------------------------

class Actor:
    """The actor's own side: one method an operation."""

    def __init__(self, name):
        self.table = leasehold.Table(name, application="actor")
        self.leases, self.tickets, self.sessions = {}, {}, {}

    def attempt(self, key, mode, ttl):
        self.leases[key] = lease = self.table.acquire(key, mode=mode, ttl=ttl,
                                                      wait=0)
        return lease.token

    def start(self, key, mode):
        self.tickets[key] = self.table.start(key, mode=mode, ttl=3600)

    def finish(self, key):
        lease = self.tickets[key].finish()
        if lease is None:
            return None
        del self.tickets[key]
        self.leases[key] = lease
        return lease.token

    def cancel(self, key):
        self.tickets.pop(key).cancel()

    def release(self, key):
        self.leases.pop(key).release()

    def convert(self, key, mode):
        self.leases[key].convert(mode, wait=0)
        return self.leases[key].token

    def extend(self, key, ttl):
        self.leases[key].extend(ttl)

    def verify(self, key):
        return self.leases[key].verify()

    def session(self, name):
        if name not in self.sessions:
            self.sessions[name] = self.table.session(name, ttl=3600)
        return self.sessions[name]

    def attempt_in(self, name, key, mode):
        lease = self.session(name).acquire(key, mode=mode, ttl=3600,
                                           wait=0)
        return lease.token

    def hand_over(self, key, name):
        lease = self.leases[key]
        lease.hand_over(self.session(name))
        del self.leases[key]
        return lease.token

    def end_session(self, name):
        self.session(name).destroy()
        self.sessions.pop(name).close()

    def forget_session(self, name):
        if name in self.sessions:
            self.sessions.pop(name).close()

    def set_value(self, key, value):
        self.leases[key].set_value(value.encode())

    def destroy(self, key):
        self.table.destroy(key)


def act(name):
    me = Actor(name)
    print("ready", flush=True)
    for line in sys.stdin:
        what, *how = json.loads(line)
        try:
            told = ["ok", getattr(me, what)(*how)]
        except leasehold.Error as error:
            told = [type(error).__name__, error.errno]
        print(json.dumps(told), flush=True)
    os._exit(0)


class Remote:
    """An actor as the driver sees it."""

    def __init__(self, name):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--act", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid, self.stopped = self.process.pid, False
        assert self.process.stdout.readline() == "ready\n"

    def do(self, *call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)
        self.stopped = True

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)
        self.stopped = False

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


# --- the model ---------------------------------------------------------------

class Holder:
    def __init__(self, mode, token, pid=0, session=None, ends=None):
        self.mode, self.token, self.pid = mode, token, pid
        self.session, self.ends = session, ends

    def shown(self):
        return (self.session or self.pid, self.mode, self.token)


class Key:
    def __init__(self):
        self.holders, self.queue = [], []
        self.last, self.known, self.value = 0, False, None
        self.past = []          # tokens that hold nothing any more

    def admits(self, mode):
        return not self.holders or (mode == SHARED and all(
            h.mode == SHARED for h in self.holders))

    def of(self, pid):
        return next((h for h in self.holders if h.pid == pid), None)

    def drop(self, holder):
        self.holders.remove(holder)
        self.past.append(holder.token)


class Untrue(Exception):
    pass


def want(got, wanted, what):
    if got != wanted:
        raise Untrue("%s: got %r, wanted %r" % (what, got, wanted))


class History:
    def __init__(self, seed, loud):
        self.name = "test-answers.%d.%d" % (os.getpid(), seed)
        self.random, self.loud = random.Random(seed), loud
        self.table = leasehold.Table(self.name, application="asker")
        self.keys = {k: Key() for k in KEYS}
        self.sessions = set()
        self.moments = []       # (time, {key: shown holders})
        self.command("log", "--grants", "on")
        time.sleep(0.02)
        self.began = time.time()
        self.actors = [Remote(self.name) for _ in range(3)]
        self.told = 0           # answers of the log that were certain
        self.jobs = {}          # key: a `run`, and its pid

    def command(self, *args, ok=(0,), environ=None):
        p = subprocess.run([COMMAND, *args], capture_output=True, text=True,
                           env=dict(os.environ, LEASEHOLD_TABLE=self.name),
                           timeout=60)
        if p.returncode not in ok:
            raise Untrue("%s: exit status %d: %s" % (
                " ".join(args), p.returncode, p.stderr.strip()))
        return p

    def close(self):
        for key in list(self.jobs):
            self.end_job(key)
        for actor in self.actors:
            if actor.stopped:
                actor.go_on()
            actor.kill()
        self.table.close()
        leasehold.remove_table(self.name, force=True)
        try:
            os.unlink("/dev/shm/leasehold.%d/%s.floor"
                      % (os.geteuid(), self.name))
        except FileNotFoundError:
            pass

    # --- what may happen: each returns words, or None: not now

    def someone(self):
        going = [a for a in self.actors if not a.stopped]
        return self.random.choice(going) if going else None

    def granted(self, key, told, mode, after=None, **who):
        """after: a token that is less; None: all that came before."""
        k = self.keys[key]
        want(told[0], "ok", "acquire of '%s'" % key)
        if told[1] <= (k.last if after is None else after) or any(
                h.token == told[1] for h in k.holders):
            raise Untrue("token %d of '%s' after %d" % (told[1], key, k.last))
        k.last, k.known = max(told[1], k.last), True
        k.holders.append(Holder(mode, told[1], **who))

    def admit(self):
        """Whoever waits and is due gets it now."""
        for name, k in self.keys.items():
            before = k.last     # readers that come together have no order
            while k.queue and k.admits(k.queue[0][1]):
                actor, mode = k.queue.pop(0)
                if actor.stopped:       # only of those that go on
                    raise AssertionError("a stopped waiter is first")
                end = time.monotonic() + 10 * SLOW
                told = actor.do("finish", name)
                while told == ["ok", None]:
                    if time.monotonic() > end:
                        raise Untrue("'%s' was not granted to %d" % (
                            name, actor.pid))
                    time.sleep(0.001)
                    told = actor.do("finish", name)
                self.granted(name, told, mode, before, pid=actor.pid)

    def pick(self):
        return self.random.choice(KEYS)

    def do_try(self, ttl=3600, ends=None):
        a, key = self.someone(), self.pick()
        mode = self.random.choice((EXCLUSIVE, SHARED))
        k = self.keys[key]
        if a is None or k.of(a.pid) or any(w[0] is a for w in k.queue):
            return None
        told = a.do("attempt", key, mode, ttl)
        k.known = True
        if k.admits(mode) and not k.queue:
            self.granted(key, told, mode, pid=a.pid, ends=ends)
            return "%d tries %s %s: granted %d" % (a.pid, MODE[mode], key,
                                                   told[1])
        want(told[0], "Busy", "try of '%s' (%s)" % (key, MODE[mode]))
        return "%d tries %s %s: busy" % (a.pid, MODE[mode], key)

    def do_wait(self):
        a, key = self.someone(), self.pick()
        mode = self.random.choice((EXCLUSIVE, SHARED))
        k = self.keys[key]
        if a is None or k.of(a.pid) or any(w[0] is a for w in k.queue):
            return None
        if any(w[0] is a for x in self.keys.values() for w in x.queue):
            return None         # one wait an actor: no circles
        want(a.do("start", key, mode), ["ok", None], "start")
        k.known = True
        k.queue.append((a, mode))
        return "%d waits for %s %s" % (a.pid, MODE[mode], key)

    def do_cancel(self):
        key = self.pick()
        waits = [w for w in self.keys[key].queue if not w[0].stopped]
        if not waits:
            return None
        w = self.random.choice(waits)
        want(w[0].do("cancel", key), ["ok", None], "cancel")
        self.keys[key].queue.remove(w)
        return "%d waits for %s no more" % (w[0].pid, key)

    def own(self):
        """A lease of an actor that runs: (actor, key, holder)."""
        all_of = [(a, n, k.of(a.pid)) for a in self.actors if not a.stopped
                  for n, k in self.keys.items() if k.of(a.pid)]
        return self.random.choice(all_of) if all_of else (None, None, None)

    def do_release(self):
        a, key, h = self.own()
        if a is None:
            return None
        want(a.do("release", key), ["ok", None], "release")
        self.keys[key].drop(h)
        return "%d releases %s" % (a.pid, key)

    def do_convert(self):
        a, key, h = self.own()
        if a is None:
            return None
        k, mode = self.keys[key], SHARED if h.mode == EXCLUSIVE else EXCLUSIVE
        told = a.do("convert", key, mode)
        if mode == EXCLUSIVE and len(k.holders) > 1:
            want(told[0], "Busy", "conversion of '%s'" % key)
            return "%d cannot have %s alone" % (a.pid, key)
        want(told[0], "ok", "conversion of '%s' to %s" % (key, MODE[mode]))
        h.mode = mode
        if told[1] != h.token:
            k.past.append(h.token)
            h.token = k.last = told[1]
        return "%d has %s %s" % (a.pid, key, MODE[mode])

    def do_hand_over(self):
        a, key, h = self.own()
        name = self.random.choice(SESSIONS)
        if a is None or any(x.session == name
                            for x in self.keys[key].holders):
            return None
        told = a.do("hand_over", key, name)
        want(told[0], "ok", "hand-off of '%s'" % key)
        self.sessions.add(name)
        if told[1] != h.token:
            self.keys[key].past.append(h.token)
        h.pid, h.session, h.token, h.ends = 0, name, told[1], None
        self.keys[key].last = max(self.keys[key].last, h.token)
        return "%d hands %s over to %s" % (a.pid, key, name)

    def do_try_in(self):
        a, key, name = self.someone(), self.pick(), \
            self.random.choice(SESSIONS)
        mode = self.random.choice((EXCLUSIVE, SHARED))
        k = self.keys[key]
        if a is None or any(h.session == name for h in k.holders):
            return None
        told = a.do("attempt_in", name, key, mode)
        self.sessions.add(name)
        k.known = True
        if k.admits(mode) and not k.queue:
            self.granted(key, told, mode, session=name)
            return "%s gets %s %s" % (name, MODE[mode], key)
        want(told[0], "Busy", "try of '%s' for %s" % (key, name))
        return "%s tries %s %s: busy" % (name, MODE[mode], key)

    def do_end_session(self):
        a = self.someone()
        if a is None or not self.sessions or any(
                x.stopped for x in self.actors):
            return None
        name = self.random.choice(sorted(self.sessions))
        want(a.do("end_session", name), ["ok", None], "end of a session")
        for x in self.actors:
            want(x.do("forget_session", name), ["ok", None], "closing it")
        self.sessions.remove(name)
        for k in self.keys.values():
            for h in [h for h in k.holders if h.session == name]:
                k.drop(h)
        return "session %s is ended" % name

    def do_kill(self):
        n = self.random.randrange(len(self.actors))
        a = self.actors[n]
        a.kill()
        for k in self.keys.values():
            k.queue = [w for w in k.queue if w[0] is not a]
            if k.of(a.pid):
                k.drop(k.of(a.pid))
        self.actors[n] = Remote(self.name)
        return "%d is killed; %d comes" % (a.pid, self.actors[n].pid)

    def do_stop(self):
        a = self.someone()
        if a is None or any(w[0] is a for k in self.keys.values()
                            for w in k.queue):
            return None
        a.stop()
        return "%d is stopped" % a.pid

    def do_go_on(self):
        stopped = [a for a in self.actors if a.stopped]
        if not stopped:
            return None
        a = self.random.choice(stopped)
        a.go_on()
        return "%d goes on" % a.pid

    def do_expire(self):
        words = self.do_try(ttl=SHORT, ends=True)
        if words is None or "busy" in words:
            return words
        time.sleep(SHORT + 0.01)
        for key, k in self.keys.items():
            for h in [h for h in k.holders if h.ends]:
                a = next(a for a in self.actors if a.pid == h.pid)
                k.drop(h)
                want(a.do("verify", key), ["ok", False], "a lease run out")
                want(a.do("release", key)[0], "Lost", "its release")
        return words + ", for a short time"

    def do_break(self):
        key = self.pick()
        k = self.keys[key]
        if not k.holders or key in self.jobs or any(
                a.stopped and k.of(a.pid) for a in self.actors):
            return None
        self.command("break", key)
        for h in list(k.holders):
            k.drop(h)
            a = next((a for a in self.actors if a.pid == h.pid), None)
            if a is not None:
                want(a.do("release", key)[0], "Lost", "release after that")
        return "%s is broken" % key

    def do_job(self):
        key = self.pick()
        k = self.keys[key]
        if k.holders or k.queue:
            return None
        p = subprocess.Popen(
            [COMMAND, "run", "-n", key.replace(",", "\\,"), "--", "sh", "-c",
             'echo "$LEASEHOLD_FENCE"; exec cat'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, LEASEHOLD_TABLE=self.name))
        token = int(p.stdout.readline())
        self.jobs[key] = p
        self.granted(key, ["ok", token], EXCLUSIVE, pid=p.pid)
        return "a job (%d) has %s" % (p.pid, key)

    def end_job(self, key):
        p = self.jobs.pop(key)
        p.stdin.close()
        p.wait()
        p.stdout.close()

    def do_end_job(self):
        if not self.jobs:
            return None
        key = self.random.choice(sorted(self.jobs))
        h = self.keys[key].of(self.jobs[key].pid)
        self.end_job(key)
        self.keys[key].drop(h)
        return "the job (%d) that has %s ends" % (h.pid, key)

    def do_value(self):
        a, key, h = self.own()
        if a is None or h.mode != EXCLUSIVE:
            return None
        value = "v%d" % self.random.randrange(1000)
        want(a.do("set_value", key, value), ["ok", None], "setting a value")
        self.keys[key].value = (value.encode(), h.token)
        return "%d sets the value of %s" % (a.pid, key)

    def do_destroy(self):
        a, key = self.someone(), self.pick()
        k = self.keys[key]
        if a is None or not k.known:
            return None
        told = a.do("destroy", key)
        if k.holders or k.queue:
            if told[0] == "ok":
                raise Untrue("'%s' was destroyed in use" % key)
            return "%s cannot be destroyed" % key
        want(told, ["ok", None], "destruction of '%s'" % key)
        k.known, k.value = False, None
        return "%s is destroyed" % key

    # --- what is asked

    def asked(self, told, name, how, run=False):
        """What library or JSON say of a key, against the model."""
        k = self.keys[name]
        by_session = {s["id"][0] if isinstance(s["id"], tuple) else s["id"]:
                      s["name"] for s in self.table.sessions()}

        def who(h):
            return by_session.get(h["id"][0], h["pid"])

        want(sorted(map(repr, ((who(h), h["mode"], h["token"])
                               for h in told["holders"]))),
             sorted(map(repr, (h.shown() for h in k.holders))),
             "%s: the holders of '%s'" % (how, name))
        want([(w["pid"], w["mode"]) for w in told["waiters"]],
             [(a.pid, mode) for a, mode in k.queue],
             "%s: who waits for '%s'" % (how, name))
        want([w["rank"] for w in told["waiters"]],
             list(range(1, len(k.queue) + 1)), "%s: ranks" % how)
        if k.last and k.known:
            want(told["token"], k.last, "%s: token of '%s'" % (how, name))
        if run:
            stopped = {a.pid for a in self.actors if a.stopped}
            for h in told["holders"]:
                if h["run"] is not None and h["pid"] and \
                        who(h) == h["pid"]:
                    want(h["run"] == "stopped", h["pid"] in stopped,
                         "%s: %d is %s" % (how, h["pid"], h["run"]))

    @staticmethod
    def plain(told):
        """JSON as the library's dicts are."""
        modes = {v: k for k, v in MODE.items()}
        for p in told["holders"] + told["waiters"]:
            p["mode"] = modes[p["mode"]]
            p["id"] = (int(p["lease_id"][:16], 16),
                       int(p["lease_id"][16:], 16))
            p["token"] = int(p.get("token", 0))
            p.setdefault("run", None)
            p.setdefault("pid", 0)
        told["token"] = int(told.get("token", 0))
        return told

    def ask_key(self, name):
        k, table = self.keys[name], self.table
        told = table.status(name)
        if told is None:
            want(k.known, False, "library: is '%s' known" % name)
        else:
            self.asked(told, name, "status()")
            self.asked(table.explain(name), name, "explain()", run=True)
        for h in k.holders:
            want(table.verify(name, h.token), True,
                 "verify() of the token of %s" % (h.shown(),))
        for token in k.past[-3:]:
            if all(token != h.token for h in k.holders):
                want(table.verify(name, token), False,
                     "verify() of the past token %d" % token)
        want(table.value(name), k.value, "value of '%s'" % name)

        held = 0 if k.holders else 1
        p = self.command("status", "--json", name, ok=(held,))
        told = json.loads(p.stdout)
        if told["state"] == "unknown":
            want(k.known, False, "status --json: is '%s' known" % name)
        else:
            want(told["state"], "held" if held == 0 else "free",
                 "status --json: the state of '%s'" % name)
            self.asked(self.plain(told), name, "status --json")
        p = self.command("explain", "--json", name,
                         ok=(0 if k.holders or k.queue else 1,))
        if p.returncode == 0:
            self.asked(self.plain(json.loads(p.stdout)[0]), name,
                       "explain --json", run=True)
        words = self.command("status", name, ok=(held,)).stdout
        for h in k.holders:
            for word in (MODE[h.mode], str(h.session or h.pid),
                         str(h.token) if len(k.holders) == 1 else ""):
                if word not in words:
                    raise Untrue("status of '%s' does not say %s: %s" % (
                        name, word, words))
        if k.past or k.holders:
            token = (k.holders[0].token if k.holders else k.past[-1])
            self.command("verify", name, str(token), ok=(held,))

    def ask_list(self):
        known = {n for n, k in self.keys.items() if k.known}
        told = {t["key"].decode(): t for t in self.table.list()}
        want(set(told), known, "list(): the keys")
        for name, t in told.items():
            self.asked(t, name, "list()")
        told = {t["key"]: t for t in json.loads(
            self.command("list", "--json").stdout)}
        want(set(told), known, "list --json: the keys")
        for name, t in told.items():
            self.asked(self.plain(t), name, "list --json")
        want({s["name"] for s in self.table.sessions()}, self.sessions,
             "the sessions")

    def ask_log(self, name, at, shown):
        """Who held it then?"""
        p = self.command("log", "--at", "@%.6f" % at, "--json", name,
                         ok=(0, 1, 66))
        if p.returncode == 66:
            return
        what = "log --at %.6f of '%s'" % (at, name)
        told = json.loads(p.stdout)
        want(told["certain"], True, what + ": is it certain")
        want(p.returncode, 0 if shown else 1, what + ": the exit status")
        real = {s[2] for s in shown}
        sure = {int(h["token"]) for h in told["holders"] if h["certain"]}
        if not sure <= real:
            raise Untrue("%s: held by %s, was by %s" % (what, sure, real))
        self.told += 1

    def ask(self):
        self.ask_list()
        for name in KEYS:
            self.ask_key(name)
        time.sleep(0.003)
        now = time.time()
        self.moments.append((now, {n: [h.shown() for h in k.holders]
                                   for n, k in self.keys.items()}))
        time.sleep(0.003)
        name = self.pick()
        self.ask_log(name, now, self.moments[-1][1][name])
        at, then = self.random.choice(self.moments)
        self.ask_log(name, at, then[name])
        want(self.table.check(), [], "what check() finds")

    OPS = ["try"] * 6 + ["wait"] * 5 + ["release"] * 5 + [
        "cancel", "convert", "convert", "hand_over", "try_in", "try_in",
        "end_session", "kill", "kill", "stop", "go_on", "go_on", "expire",
        "break", "job", "end_job", "value", "destroy"]

    def step(self):
        words = None
        while words is None:
            words = getattr(self, "do_" + self.random.choice(self.OPS))()
        self.admit()
        if self.loud:
            print("#", words, flush=True)
        self.ask()
        return words


def history(seed, steps, loud=False):
    """None, or what was untrue."""
    h, told = History(seed, loud), []
    try:
        for _ in range(steps):
            told.append(h.step())
        return None
    except Untrue as untrue:
        return "%s\nafter: %s" % (untrue, "\n       ".join(told[-12:]))
    finally:
        h.close()


def main():
    if sys.argv[1:2] == ["--act"]:
        act(sys.argv[2])
    elif len(sys.argv) > 1:
        steps = int(sys.argv[2]) if len(sys.argv) > 2 else 60
        untrue = history(int(sys.argv[1]), steps, loud=True)
        print(untrue or "all true")
        sys.exit(untrue is not None)
    seeds = range(1, 41 if os.environ.get("LH_TEST_LONG") else 3)
    print("1..%d" % len(seeds), flush=True)
    failed = 0
    for n, seed in enumerate(seeds, 1):
        untrue = history(seed, 40)
        print("%sok %d - history %d" % ("not " if untrue else "", n, seed),
              flush=True)
        if untrue:
            failed += 1
            print("# " + untrue.replace("\n", "\n# "), flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
