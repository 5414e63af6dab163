#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Every public function, with each pointer NULL (a table also after one was
closed), each struct zeroed, each handle closed: it returns its documented error, and nothing crashes or hangs.

The functions are those that include/leasehold/*.h declare.  Each is called
with arguments that are in order, and then once for each argument that can be
spoilt.  Each call is made in a process of its own, through ctypes, on a table
of its own; it may take ten seconds.  arguments.expected has what each returns:

    FUNCTION ARGUMENT WHAT RESULT

A function that is not in that list, or is in it and no more in the headers, is
a failure.  `tests/command/arguments.t --update` writes the list anew; read the
difference, and see that the headers say the same.
"""
import ctypes
import errno
import os
import re
import resource
import select
import signal
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
LIST = os.path.join(HERE, "arguments.expected")
LIBRARY = os.environ.get("LEASEHOLD_LIBRARY") or os.path.join(
    ROOT, "build/release/libleasehold.so")
SECONDS = 10 * int(os.environ.get("LH_TEST_SLOW", "1"))
HANDLES = ("lh", "lh_key", "lh_session", "lh_lock", "lh_watch", "lh_ticket",
           "lh_sem", "lh_gate")
ROOM = 8192                     # for any struct that the library may fill


def headers():
    """The text of all headers, without comments and directives."""
    folder = os.path.join(ROOT, "include/leasehold")
    text = ""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".h"):
            with open(os.path.join(folder, name)) as f:
                text += f.read()
    macros = dict(re.findall(r"^#define (LH_\w+)\s+(0x[0-9a-f]+)u\b", text,
                             re.M))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)
    return text, {k: int(v, 16) for k, v in macros.items()}


def split(text):
    """text at the commas that are in no bracket."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


class Parameter:
    def __init__(self, text):
        self.text = text
        call = re.search(r"\(\*\s*(\w+)\)\s*\(", text)
        name = call or re.search(r"(\w+)\s*(?:\[\w*\])?$", text)
        self.name = name.group(1)
        self.callback = bool(call) or bool(re.match(r"lh_\w+_fn\b", text))
        self.array = text.endswith("]")
        stars = 0 if call else text.count("*")
        self.pointer = self.callback or self.array or stars > 0
        tag = re.search(r"struct (\w+)", text) if not call else None
        self.tag = tag.group(1) if tag else None
        self.out = stars == 2
        self.handle = self.tag in HANDLES and stars == 1
        self.struct = self.tag is not None and stars == 1 and not self.handle


class Function:
    def __init__(self, result, name, parameters):
        self.result = " ".join(result.split())
        self.name = name
        self.parameters = [] if parameters.strip() == "void" else [
            Parameter(" ".join(p.split())) for p in split(parameters)]


def functions():
    """Every function that the headers declare, by name."""
    found = {}
    text, macros = headers()
    depth, plain = 0, ""
    text = text.replace('extern "C" {', "")
    for c in text:              # what is in no braces
        depth += c == "{"
        plain += c if depth <= 0 else ""
        depth -= c == "}"
        depth = max(depth, 0)
    for piece in plain.split(";"):
        m = re.match(r"^([\w\s\*]*?[\s\*])(lh_\w+)\s*\((.*)\)$",
                     " ".join(piece.replace("}", " ").split()))
        if m and not m.group(1).startswith("typedef"):
            found[m.group(2)] = Function(*m.groups())
    return found, macros


# What each call is made with, by the name of a parameter; a function's own
# value goes before that.  A string names what World has.
VALUES = {
    "flags": 0, "mode": 0, "n": 2, "i": 0, "on": 1, "what": 0, "sig": 7,
    "limit": 4, "ttl_ms": 60000, "idle_ms": 3600000, "every_ms": -1,
    "clock_ns": 1, "error": -22, "len": 3,
    "key": b"free", "prefix": b"f", "token": "token", "id": "id",
    "request": "request", "lease": "lease", "leases": "leases",
    "items": "items", "value": b"abc", "name": "name", "opts": "opts",
    "arg": "room", "info": "room", "context": "room", "permit": "permit",
    "exclusive": "room", "shared": "room", "result": "room", "number": "room",
    "status": "sized", "state": "sized", "stats": "sized", "event": "sized",
    "cancel": "room", "to": "to", "fn": "fn", "out": "room",
    "file": None, "path": "path", "resource": b"r", "limit": 4,
    "mutex": "room", "rwlock": "room", "attr": "room", "until": "room",
    "clock": 1, "type": 0, "robust": 0, "protocol": 0, "kind": 0,
}
OWN = {
    ("lh_mutexattr_setpshared", "shared"): 0,
    ("lh_rwlockattr_setpshared", "shared"): 0,
    ("lh_mutexattr_gettype", "type"): "room",
    ("lh_mutexattr_getrobust", "robust"): "room",
    ("lh_mutexattr_getprotocol", "protocol"): "room",
    ("lh_rwlockattr_getkind_np", "kind"): "room",
    ("lh_acquire", "lease"): "room",
    ("lh_acquire_watched", "lease"): "room",
    ("lh_acquire_watched", "watch"): "fn",
    ("lh_acquire_many", "leases"): "room",
    ("lh_key_acquire", "lease"): "room",
    ("lh_sem_acquire", "permit"): "room",
    ("lh_ticket_finish", "lease"): "room",
    ("lh_lock_lease", "lease"): "room", ("lh_lock_extend", "expires_ns"): "room",
    ("lh_lease_recall", "lease"): "room",
    ("lh_session_info", "info"): "sized", ("lh_lease_info", "info"): "sized",
    ("lh_gate_check", "token"): 7, ("lh_gate_open", "resource"): None,
    ("lh_sem_open", "name"): b"new", ("lh_sem_destroy", "name"): b"new",
    ("lh_session_open", "name"): b"new",
    ("lh_table_remove", "flags"): "LH_FORCE",
    ("lh_value_get", "value"): "room", ("lh_value_get", "len"): "room",
    ("lh_value_get", "token"): "room",
    ("lh_dump", "to"): "dump_to",
}
HELD = ("lh_status", "lh_explain", "lh_lease_recall", "lh_break", "lh_ask_release",
        "lh_verify_token", "lh_value_get")
SIZES = {                       # of what has its size in front
    "lh_stats": None, "lh_lock_state": None, "lh_session_info": None,
    "lh_sem_status": None, "lh_lease_info": None, "lh_event": None, "lh_open_opts": None,
    "lh_lock_opts": None, "lh_session_opts": None, "lh_log_opts": None,
    "lh_dump_to": None, "lh_acquire_opts": None, "lh_acquire_more": None,
    "lh_lease": None, "lh_item": None,
}


def read_sizes():
    with open(os.path.join(ROOT, "tests/abi/abi.txt")) as f:
        for name, size in re.findall(r"^struct (\w+), (\d+):", f.read(), re.M):
            if name in SIZES:
                SIZES[name] = int(size)


class World:
    """A table with a handle of each kind, and leases, in this process."""

    def __init__(self, lib, function, macros, name):
        self.lib, self.f, self.macros = lib, function, macros
        self.name = name
        self.keep = []
        self.handle = {}
        self.open_all()

    def must(self, result, what):
        if result != 0:
            raise SystemExit("%s: %d, %s" % (
                what, result, self.lib.lh_error_detail().decode()))

    def buffer(self, content=b"", size=ROOM):
        self.keep.append(ctypes.create_string_buffer(content, size))
        return ctypes.addressof(self.keep[-1])

    def packed(self, tag, layout="", *values):
        return self.buffer(struct.pack("=Q" + layout, SIZES[tag], *values))

    def opts(self, tag):
        none = self.macros.get("LH_GROUP_USUAL", 0xffffffff)
        return {
            "lh_open_opts": ("8I3Q", self.macros["LH_LIVENESS_FD"], 0o600,
                             1024, 64, 4096, 0, none, 0, 0, 0, 0),
            "lh_acquire_opts": ("4I3q2Q", 0, 0, 0, 0, 60000, 2000, 0, 0, 0),
            "lh_lock_opts": ("2q2Q2IQ", -1, 0, 0, 0, 0, 0, 0),
            "lh_session_opts": ("2I2q", 0, 0, 60000, 0),
            "lh_log_opts": ("2I2Qq", 0, 0, 0, 0, -2 ** 63),
        }[tag]

    def make(self, kind, call, *args):
        out = ctypes.c_void_p()
        args = [ctypes.byref(out) if a is self else a for a in args]
        self.must(getattr(self.lib, call)(*args), call)
        self.handle[kind] = out.value

    def open_all(self):
        lib, lease = self.lib, SIZES["lh_lease"]
        P = ctypes.c_void_p

        self.make("lh", "lh_open", self, self.name, P(self.packed(
            "lh_open_opts", *self.opts("lh_open_opts"))))
        lh = P(self.handle["lh"])
        if self.f.name != "lh_pthread_table":
            self.must(lib.lh_pthread_table(self.name), "table")
        self.leases = self.buffer(size=ROOM)
        self.lease = self.leases
        opts = P(self.packed("lh_acquire_opts", *self.opts("lh_acquire_opts")))
        for i, key in enumerate((b"held", b"held2")):
            self.must(lib.lh_acquire(lh, key, opts, P(self.lease + i * lease)),
                      "lease")
        self.id = self.buffer(ctypes.string_at(self.lease + 8, 16))
        self.token = ctypes.c_uint64.from_address(self.lease + 24).value
        lib.lh_value_set(lh, P(self.lease), b"abc", 3)
        self.make("lh_key", "lh_key_open", lh, b"opened", 0, self)
        self.make("lh_session", "lh_session_open", lh, b"job", None, self)
        self.make("lh_lock", "lh_lock_open", lh, b"lock", None, self)
        if self.f.name != "lh_lock_acquire":
            self.must(lib.lh_lock_acquire(P(self.handle["lh_lock"]), opts),
                      "lock")
        self.make("lh_watch", "lh_lock_watch", P(self.handle["lh_lock"]), 0,
                  self)
        self.make("lh_ticket", "lh_acquire_start", lh, b"ticket", None, self)
        self.make("lh_sem", "lh_sem_open", lh, b"sem", 4, self)
        self.permit = self.buffer()
        self.must(lib.lh_sem_acquire(P(self.handle["lh_sem"]), opts,
                                     P(self.permit)), "permit")
        self.path = b"/dev/shm/" + self.name + b".gate"
        self.make("lh_gate", "lh_gate_open", self, self.path, None, 0)
        self.request = self.buffer(struct.pack("=2Q", 1, 2))
        more = self.packed("lh_acquire_more", "2IQ2Q4Q", 0, 0,
                           self.handle["lh_session"], 1, 2, 0, 0, 0, 0)
        asked = P(self.packed("lh_acquire_opts", "4I3q2Q", 0, 0, 0, 0, 60000,
                              0, 0, 0, more))
        self.must(lib.lh_acquire(lh, b"asked", asked, P(self.buffer())),
                  "request")

    def close(self, kind):
        call = {"lh": "lh_close", "lh_ticket": "lh_ticket_cancel"}.get(
            kind, kind + "_close")
        if kind == "lh_session":
            self.lib.lh_session_close(ctypes.c_void_p(self.handle[kind]))
        else:
            self.must(getattr(self.lib, call)(
                ctypes.c_void_p(self.handle[kind])), call)

    def argument(self, p):
        """What is in order."""
        if p.handle:
            return self.handle[p.tag]
        if p.callback:
            fn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p,
                                  ctypes.c_void_p)(lambda a, b: 0)
            self.keep.append(fn)
            return ctypes.cast(fn, ctypes.c_void_p).value
        v = OWN.get((self.f.name, p.name), VALUES.get(p.name, "unknown"))
        if p.name == "key" and self.f.name in HELD:
            v = b"held"
        if v == "opts":
            return self.packed(p.tag, *self.opts(p.tag))
        if v == "sized":
            return self.packed(p.tag)
        if v == "dump_to":
            return self.packed("lh_dump_to", "4Q", 0, 0, 0, 0)
        if v == "room":
            return self.buffer()
        if v == "items":
            return self.buffer(struct.pack(
                "=Q2IQ2I", self.buffer(b"m1"), 0, 0, self.buffer(b"m2"), 0, 0))
        if isinstance(v, str) and v in self.macros:
            return self.macros[v]
        if v == "unknown":
            raise SystemExit("no value for '%s' of %s: add one" % (
                p.text, self.f.name))
        if isinstance(v, str):
            v = getattr(self, v)
        return self.buffer(v + b"\0") if isinstance(v, bytes) else v


def variants(f):
    """Each way to spoil a call: (index of the parameter, how)."""
    yield None, "-"
    for i, p in enumerate(f.parameters):
        if p.pointer:
            yield i, "NULL"
        if p.struct or (p.array and not p.handle):
            yield i, "zeroed"
        if p.handle:
            yield i, "closed"
        if p.tag == "lh" and p.handle:
            yield i, "NULL-after"


def told(f, result, lib):
    """What it has returned, in a word."""
    kind = f.result
    if kind == "void":
        return "nothing"
    if "*" in kind:
        return "NULL" if not result else "something"
    if kind == "uint64_t":
        return "0" if result == 0 else "positive"
    if result > 0 and re.match(r"lh_(mutex|rwlock|pthread)", f.name):
        return errno.errorcode[result] + (
            "" if lib.lh_error_detail() else " unsaid")
    if result >= 0:
        return "0" if result == 0 else "positive"
    name = errno.errorcode.get(-result, str(result))
    return "-" + name + (" unsaid" if not lib.lh_error_detail() else "")


def call(lib, f, macros, name, i, how):
    """In a process of its own."""
    w = World(lib, f, macros, name)
    values = [w.argument(p) for p in f.parameters]
    if how == "NULL":
        values[i] = None
    elif how == "zeroed":
        values[i] = w.buffer()
    elif how in ("closed", "NULL-after"):
        w.close(f.parameters[i].tag)
    if how == "NULL-after":
        values[i] = None
    if f.name == "lh_table_repair":     # only of a table that nobody uses
        w.close("lh")
    args = []
    for p, v in zip(f.parameters, values):
        args.append(ctypes.c_void_p(v) if p.pointer else
                    ctypes.c_uint32(v) if "uint32_t" in p.text else
                    ctypes.c_int(v) if re.match(r"int \w+$", p.text) else
                    ctypes.c_uint64(v & 2 ** 64 - 1))
    c = getattr(lib, f.name)
    c.restype = (None if f.result == "void" else
                 ctypes.c_void_p if "*" in f.result else
                 ctypes.c_uint64 if f.result == "uint64_t" else
                 ctypes.c_int64 if f.result == "int64_t" else ctypes.c_int)
    return told(f, c(*args), lib)


def in_child(lib, f, macros, number, i, how):
    """Its word, or what became of the process."""
    name = b"test-arguments.%d.%d" % (os.getpid(), number)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        word = "no answer"
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.environ["LEASEHOLD_TABLE"] = name.decode()
            ctypes.CDLL(None).setenv(b"LEASEHOLD_TABLE", name, 1)
            word = call(lib, f, macros, name, i, how)
        except BaseException as e:
            word = "wrong: %s" % e
        os.write(w, word.encode())
        os._exit(0)
    os.close(w)
    if not select.select([r], [], [], SECONDS)[0]:
        os.kill(pid, signal.SIGKILL)
        word = "hangs"
    else:
        word = os.read(r, 1000).decode()
    status = os.waitpid(pid, 0)[1]
    os.close(r)
    lib.lh_table_remove(name, macros["LH_FORCE"] | macros["LH_FORGET_TOKENS"])
    for path in ("/dev/shm/%s.gate" % name.decode(),):
        if os.path.exists(path):
            os.unlink(path)
    return word or "crashes: signal %d" % (status & 127)


def divide(line):
    """A line of the list: what is called how, and what it returns."""
    words = line.rstrip("\n").split(" ", 3)
    return " ".join(words[:3]), words[3]


def main():
    read_sizes()
    found, macros = functions()
    for k in [k for k in os.environ if k.startswith("LEASEHOLD_")]:
        del os.environ[k]
    lib = ctypes.CDLL(LIBRARY)
    lib.lh_error_detail.restype = ctypes.c_char_p
    lines, number = [], 0
    for name in sorted(found):
        for i, how in variants(found[name]):
            number += 1
            which = "-" if i is None else found[name].parameters[i].name
            lines.append("%s %s %s %s" % (
                name, which, how, in_child(lib, found[name], macros, number,
                                           i, how)))
    if "--update" in sys.argv:
        with open(LIST, "w") as f:
            f.write("\n".join(lines) + "\n")
        return 0
    with open(LIST) as f:
        expected = dict(divide(line) for line in f)
    n = bad = 0
    for line in lines:
        what, got = divide(line)
        wanted = expected.pop(what, "nothing: it is not in the list")
        n += 1
        bad += got != wanted
        print("%sok %d - %s: %s" % ("" if got == wanted else "not ", n, what,
                                    wanted))
        if got != wanted:
            print("# got: " + got, file=sys.stderr)
    for what in expected:
        n += 1
        bad += 1
        print("not ok %d - %s: no function has that any more" % (n, what))
    print("1..%d" % n)
    return 1 if bad else 0


sys.exit(main())
