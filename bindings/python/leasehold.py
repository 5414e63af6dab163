# SPDX-License-Identifier: MIT
"""Named locks with leases and fencing tokens for the processes of one machine.

    import leasehold

    table = leasehold.Table()
    with table.acquire("nightly-report", ttl=60) as lease:
        write_report(lease.token)

    with table.lock("catalogue") as lock:      # renews itself
        while more_to_do() and lock.valid:
            do_a_little()

    with table.semaphore("licences", 5).acquire():
        use_one_of_five()

    ticket = table.start("catalogue")           # waits without a thread
    select.select([ticket], [], [])
    with ticket.finish() as lease:
        publish(lease.token)

Everything is libleasehold, called through ctypes: nothing has to be built.  The
library is looked for in $LEASEHOLD_LIBRARY, then where the system has its
libraries.  Its headers describe the calls.

Times are seconds, as int or float.  Failures are exceptions: subclasses of
Error, which is an OSError with errno and the library's own sentence.  "Busy" of
the try_ methods and "lost" where it is asked for are answers, not failures.

Waiting in the main thread can be ended by Ctrl-C; it is another thread's, so
that leases that the main thread has waited for are in no deadlock.  A forked
child must open tables of its own.

Not here are opened keys (lh_key_open(): what they save is nothing beside a call
from Python), lh_with() (a with block is that), and what operators do, for which
there is the command.  All is in one file, so that it can be copied.
"""

import ctypes
import ctypes.util
import errno as _errno
import os as _os
import threading as _threading
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_int,
                    c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32,
                    c_uint64, c_void_p, sizeof)

__all__ = ["Table", "Lease", "Leases", "Session", "Lock", "Watch", "Ticket",
           "Semaphore", "Event", "Gate", "Error", "Busy",
           "TimedOut", "Deadlock", "Cancelled", "Lost", "NotOwner", "NotFound",
           "EXCLUSIVE", "SHARED", "FOREVER", "EPHEMERAL", "LOCAL", "QUORUM",
           "POLICY_LEASE", "POLICY_STRICT", "POLICY_LIVE", "remove_table"]

EXCLUSIVE, SHARED = 0, 1
EPHEMERAL, LOCAL, QUORUM = 0, 1, 2
FOREVER = float("inf")

NOTE_PREVIOUS_DIED, NOTE_PREVIOUS_EXPIRED, NOTE_PREVIOUS_BROKEN = 1, 2, 4
NOTE_INCONSISTENT = 0x10
POLICY_LEASE, POLICY_STRICT, POLICY_LIVE = 0, 1, 2
FREE, HELD, LOST = 0, 1, 2
LOSSES = {0: None, 1: "expired", 2: "broken", 3: "session ended",
          4: "table removed", 5: "cluster lost", 6: "released"}
ACQUIRED, RENEWED, FAILED, WARNING, LOSS, RELEASED, CLOSED, ASKED = (
    1, 2, 4, 8, 16, 32, 64, 128)

_SYSTEM, _NO_CREATE, _FORCE, _GATE_DURABLE = 0x1, 0x2, 0x10, 0x100
_ALL_LOCAL, _CATCH_SIGBUS, _WITH_MAKER = 0x200, 0x400, 0x10000
_SHAREABLE, _NO_DEADLOCK, _KEEP = 0x100, 0x200, 0x400
_ROBUST = 0x2000
_INT64_MAX = 2 ** 63 - 1


class _Lease(Structure):
    _fields_ = [("key", c_uint32), ("opaque", c_uint16), ("notes", c_uint8),
                ("mode", c_uint8), ("id", c_uint64 * 2), ("token", c_uint64),
                ("expires_ns", c_int64)]


class _LeaseInfo(Structure):
    _fields_ = [("size", c_size_t), ("mode", c_uint32), ("notes", c_uint32),
                ("token", c_uint64), ("acquired_ns", c_int64),
                ("expires_ns", c_int64), ("policy", c_uint32),
                ("reserved", c_uint32), ("key", c_char * 256)]


class _Cancel(Structure):
    _fields_ = [("opaque", c_uint64 * 4)]


class _OpenOpts(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("mode", c_uint32),
                ("max_keys", c_uint32), ("max_sessions", c_uint32),
                ("max_leases", c_uint32), ("order", c_uint32),
                ("group", c_uint32), ("clock", c_uint32),
                ("application", c_char_p), ("fence_dir", c_char_p),
                ("cluster_prefix", c_char_p)]


class _AcquireMore(Structure):
    _fields_ = [("size", c_size_t), ("policy", c_uint32),
                ("reserved", c_uint32), ("session", c_void_p),
                ("request", c_uint64 * 2), ("info", c_char_p),
                ("holder", c_char_p), ("value", c_void_p),
                ("value_len", c_size_t)]


class _AcquireOpts(Structure):
    _fields_ = [("size", c_size_t), ("mode", c_uint32), ("scope", c_uint32),
                ("flags", c_uint32), ("priority", c_uint32),
                ("ttl_ms", c_int64), ("max_wait_ms", c_int64),
                ("deadline_ns", c_int64), ("cancel", POINTER(_Cancel)),
                ("more", POINTER(_AcquireMore))]


class _Item(Structure):
    _fields_ = [("key", c_char_p), ("mode", c_uint32), ("priority", c_uint32)]


class _LockOpts(Structure):
    _fields_ = [("size", c_size_t), ("renew_ms", c_int64),
                ("warn_ms", c_int64), ("event", c_void_p), ("arg", c_void_p),
                ("flags", c_uint32), ("reserved", c_uint32),
                ("session", c_void_p)]


class _SessionOpts(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("on_end", c_uint32),
                ("ttl_ms", c_int64), ("lock_delay_ms", c_int64),
                ("pid", ctypes.c_int32), ("reserved", c_uint32)]


class _SessionInfo(Structure):
    _fields_ = [("size", c_size_t), ("id", c_uint64),
                ("name", ctypes.c_char * 32), ("ttl_ms", c_int64),
                ("lock_delay_ms", c_int64), ("expires_ns", c_int64),
                ("made_ns", c_int64), ("maker", c_uint64),
                ("on_end", c_uint32), ("pid", c_uint32), ("uid", c_uint32),
                ("leases", c_uint32), ("foreign", c_uint32),
                ("lost", c_uint32)]


class _LockState(Structure):
    _fields_ = [("size", c_size_t), ("status", c_uint32), ("loss", c_uint32),
                ("lease", _Lease), ("seq", c_uint64), ("renewals", c_uint64),
                ("failures", c_uint64), ("next_ns", c_int64),
                ("error", c_int32), ("which", c_uint32)]


class _Party(Structure):
    _fields_ = [("id", c_uint64 * 2), ("pid", c_uint32), ("tid", c_uint32),
                ("uid", c_uint32), ("mode", c_uint32), ("priority", c_uint32),
                ("rank", c_uint32), ("since_ns", c_int64),
                ("expires_ns", c_int64), ("token", c_uint64),
                ("application", ctypes.c_char * 32),
                ("request", c_uint64 * 2), ("info", ctypes.c_char * 96),
                ("policy", c_uint32), ("flags", c_uint32), ("run", c_uint32),
                ("waits_pid", c_uint32), ("waits_since_ns", c_int64),
                ("waits_for", c_char_p)]


class _KeyInfo(Structure):
    _fields_ = [("size", c_size_t), ("key", c_char_p), ("token", c_uint64),
                ("mode", c_uint32), ("n_holders", c_uint32),
                ("n_waiters", c_uint32), ("holders", POINTER(_Party)),
                ("waiters", POINTER(_Party)), ("scope", c_uint32),
                ("value_len", c_uint32), ("rank", c_uint32),
                ("moved", c_uint32), ("delayed_ns", c_int64),
                ("cluster", c_uint32), ("inconsistent", c_uint32),
                ("cluster_left_ns", c_int64), ("elsewhere", c_char_p),
                ("others", c_uint32)]


class _SemStatus(Structure):
    _fields_ = [("size", c_size_t), ("limit", c_uint32), ("held", c_uint32),
                ("waiting", c_uint32), ("reserved", c_uint32)]


_KeyFn = ctypes.CFUNCTYPE(c_int, POINTER(_KeyInfo), c_void_p)
_SessionFn = ctypes.CFUNCTYPE(c_int, POINTER(_SessionInfo), c_void_p)
_FindingFn = ctypes.CFUNCTYPE(None, c_char_p, c_void_p)


class Event(Structure):
    """A change of a live lock: seq, count, what (bits), status, loss, error,
    token, expires_ns, at_ns; see struct lh_event."""
    _fields_ = [("size", c_size_t), ("seq", c_uint64), ("count", c_uint32),
                ("what", c_uint32), ("status", c_uint32), ("loss", c_uint32),
                ("error", c_int32), ("which", c_uint32),
                ("token", c_uint64), ("expires_ns", c_int64),
                ("at_ns", c_int64)]


class Error(OSError):
    """A failed call: errno, and in strerror what, why, and what to do."""


class Busy(Error, BlockingIOError):
    """Somebody else holds the key or waits for it, and the call did not wait."""


class TimedOut(Error, TimeoutError):
    """Others held the key or waited for it until the time was over."""


class Deadlock(Error):
    """You would wait for each other for ever."""


class Cancelled(Error):
    """The wait was cancelled."""


class Lost(Error):
    """The lease is lost, or the table was removed."""


class NotOwner(Error, PermissionError):
    """Another session's, or inherited over fork."""


class NotFound(Error, FileNotFoundError):
    """No such table, key, or gate."""


_classes = {_errno.EAGAIN: Busy, _errno.ETIMEDOUT: TimedOut,
            _errno.EDEADLK: Deadlock, _errno.ECANCELED: Cancelled,
            _errno.ESTALE: Lost, _errno.EPERM: NotOwner,
            _errno.EACCES: NotOwner, _errno.ENOENT: NotFound}


def _load():
    name = (_os.environ.get("LEASEHOLD_LIBRARY") or
            ctypes.util.find_library("leasehold") or "libleasehold.so.0")
    lib = ctypes.CDLL(name)
    p = c_void_p
    for fn, args in {
            "lh_open": [POINTER(p), c_char_p, POINTER(_OpenOpts)],
            "lh_close": [p], "lh_table_remove": [c_char_p, c_uint32],
            "lh_acquire": [p, c_char_p, POINTER(_AcquireOpts),
                           POINTER(_Lease)],
            "lh_release": [p, POINTER(_Lease)],
            "lh_release_request": [p, p, POINTER(c_uint64 * 2)],
            "lh_acquire_many": [p, POINTER(_Item), c_size_t,
                                POINTER(_AcquireOpts), POINTER(_Lease)],
            "lh_release_many": [p, POINTER(_Lease), c_size_t],
            "lh_extend": [p, POINTER(_Lease), c_int64],
            "lh_convert": [p, POINTER(_Lease), c_uint32],
            "lh_convert_wait": [p, POINTER(_Lease), c_uint32,
                                POINTER(_AcquireOpts)],
            "lh_verify": [p, POINTER(_Lease)],
            "lh_lease_info": [p, POINTER(_Lease), POINTER(_LeaseInfo)],
            "lh_mark_consistent": [p, POINTER(_Lease)],
            "lh_verify_token": [p, c_char_p, c_uint64],
            "lh_explain": [p, c_char_p, _KeyFn, p],
            "lh_list": [p, c_char_p, _KeyFn, p],
            "lh_status": [p, c_char_p, p, _KeyFn, p],
            "lh_check": [p, _FindingFn, p],
            "lh_key_create": [p, c_char_p], "lh_destroy": [p, c_char_p],
            "lh_lease_recall": [p, c_char_p, POINTER(c_uint64 * 2), c_uint64,
                                POINTER(_Lease)],
            "lh_lease_asked": [p, POINTER(_Lease)],
            "lh_break": [p, c_char_p, p, c_uint64],
            "lh_ask_release": [p, c_char_p, p, c_uint64],
            "lh_acquire_start": [p, c_char_p, POINTER(_AcquireOpts),
                                 POINTER(p)],
            "lh_ticket_fd": [p], "lh_ticket_rank": [p],
            "lh_ticket_finish": [p, POINTER(_Lease)],
            "lh_ticket_cancel": [p],
            "lh_wait_free": [p, c_char_p, POINTER(_AcquireOpts)],
            "lh_sem_open": [p, c_char_p, c_uint32, POINTER(p)],
            "lh_sem_close": [p],
            "lh_sem_acquire": [p, POINTER(_AcquireOpts), POINTER(_Lease)],
            "lh_sem_status": [p, POINTER(_SemStatus)],
            "lh_sem_destroy": [p, c_char_p],
            "lh_cancel": [POINTER(_Cancel)],
            "lh_release_value": [p, POINTER(_Lease), c_char_p, c_size_t],
            "lh_value_set": [p, POINTER(_Lease), c_char_p, c_size_t],
            "lh_value_get": [p, c_char_p, p, POINTER(c_size_t),
                             POINTER(c_uint64)],
            "lh_session_open": [p, c_char_p, POINTER(_SessionOpts),
                                POINTER(p)],
            "lh_session_destroy": [p], "lh_session_keep": [p, c_int],
            "lh_session_info": [p, POINTER(_SessionInfo)],
            "lh_session_list": [p, c_char_p, _SessionFn, p],
            "lh_handoff": [p, POINTER(_Lease), p],
            "lh_lock_open": [p, c_char_p, POINTER(_LockOpts), POINTER(p)],
            "lh_lock_open_many": [p, POINTER(_Item), c_size_t,
                                  POINTER(_LockOpts), POINTER(p)],
            "lh_lock_adopt": [p, POINTER(_Lease), c_int64, POINTER(_LockOpts),
                              POINTER(p)],
            "lh_lock_lease": [p, c_size_t, POINTER(_Lease)],
            "lh_lock_acquire": [p, POINTER(_AcquireOpts)],
            "lh_lock_release": [p], "lh_lock_close": [p],
            "lh_lock_valid": [p], "lh_lock_renew_every": [p, c_int64],
            "lh_lock_extend": [p, c_int64, p],
            "lh_lock_state": [p, POINTER(_LockState)],
            "lh_lock_watch": [p, c_uint32, POINTER(p)], "lh_watch_fd": [p],
            "lh_watch_next": [p, POINTER(Event)], "lh_watch_close": [p],
            "lh_gate_open": [POINTER(p), c_char_p, c_char_p, c_uint32],
            "lh_gate_check": [p, c_uint64, c_uint32], "lh_gate_close": [p],
            "lh_gate_marks": [p, POINTER(c_uint64), POINTER(c_uint64)],
    }.items():
        f = getattr(lib, fn)
        f.argtypes, f.restype = args, c_int
    for fn, result in (("lh_session_renew", c_int64),
                       ("lh_session_close", None)):
        f = getattr(lib, fn)
        f.argtypes, f.restype = [p], result
    lib.lh_clock_ns.argtypes, lib.lh_clock_ns.restype = [p], c_int64
    lib.lh_error_detail.restype = c_char_p
    lib.lh_strerror.restype = c_char_p
    return lib


_lib = _load()


def _failure(result):
    text = _lib.lh_error_detail() or _lib.lh_strerror(result)
    return _classes.get(-result, Error)(-result, text.decode("utf-8",
                                                             "replace"))


def _check(result):
    if result < 0:
        raise _failure(result)
    return result


def _ask(result, no):
    """0: yes; -no: no; everything else is raised."""
    return result != -no and _check(result) == 0


def _bytes(text, what):
    data = text.encode() if isinstance(text, str) else _os.fspath(text)
    data = data.encode() if isinstance(data, str) else bytes(data)
    if b"\0" in data:
        raise ValueError("%s has a NUL byte in it" % what)
    return data


def _ms(seconds):
    """Rounded up: a wait is never shorter than asked."""
    if seconds >= _INT64_MAX / 1000:
        return _INT64_MAX
    return -int(-seconds * 1000 // 1)


_RUNS = (None, "running", "sleeping", "blocked", "stopped", "dead",
         "frozen", "inherited")
# whether other hosts have a cluster key
_OTHERS = (None, "none", "hold", "unknown")


def _party(p, now_ns):
    """One around a key, as Table.explain() tells it."""
    who = {"id": tuple(p.id), "pid": p.pid, "tid": p.tid, "uid": p.uid,
           "mode": p.mode,
           "application": p.application.decode("utf-8", "replace"),
           "info": p.info.decode("utf-8", "replace"), "run": _RUNS[p.run],
           "since": (now_ns - p.since_ns) / 1e9}
    if p.rank:
        who.update(rank=p.rank, priority=p.priority)
    else:
        who.update(token=p.token, waits_for=p.waits_for,
                   left=FOREVER if p.expires_ns == _INT64_MAX else
                   (p.expires_ns - now_ns) / 1e9)
    return who


def _around(info, now_ns):
    """A key and those around it."""
    return {"key": info.key, "token": info.token, "rank": info.rank,
            "moved": bool(info.moved), "delayed": info.delayed_ns / 1e9,
            "elsewhere": info.elsewhere, "others": _OTHERS[info.others],
            "holders": [_party(info.holders[i], now_ns)
                        for i in range(info.n_holders)],
            "waiters": [_party(info.waiters[i], now_ns)
                        for i in range(info.n_waiters)]}


def _token(token):
    if not 0 < token <= _INT64_MAX:
        raise ValueError("a fence token is 1 to 2**63 - 1")
    return token


class _Handle:
    """What has to be closed once, by whoever comes first."""

    def __init__(self, pointer, close, keep=None):
        self._pointer, self._close, self._keep = pointer, close, keep
        self._guard = _threading.Lock()

    @property
    def p(self):
        if self._pointer is None:
            raise ValueError("it has been closed")
        return self._pointer

    def close(self):
        with self._guard:
            if self._pointer is None:
                return
            _check(self._close(self._pointer))
            self._pointer = None

    def gone(self):
        """It has ended by itself."""
        with self._guard:
            self._pointer = None

    def __del__(self):
        try:
            self.close()
        except Error:
            pass                # in a forked child, or beside a waiting thread


def _priority(n):
    """ctypes would take the lowest 32 bits of any number."""
    if not 0 <= n < 1 << 32:
        raise ValueError("a priority is a number from 0 to 2**32 - 1")
    return n


def _options(ttl=30, wait=3600, mode=EXCLUSIVE, priority=0, scope=EPHEMERAL,
             create=True, info=None, request=None, holder=None, value=None,
             session=None, policy=POLICY_LEASE, shareable=False,
             deadlock=True, robust=False):
    """What there is to say about an acquire; see Table.acquire()."""
    opts = _AcquireOpts(size=ctypes.sizeof(_AcquireOpts), mode=mode,
                        scope=scope, priority=_priority(priority),
                        ttl_ms=_ms(ttl),
                        flags=(0 if create else _NO_CREATE) |
                        (_SHAREABLE if shareable else 0) |
                        (0 if deadlock else _NO_DEADLOCK) |
                        (_ROBUST if robust else 0),
                        max_wait_ms=_ms(wait))
    if policy or not (info is request is holder is value is session is None):
        opts.more = ctypes.pointer(_more(info, request, holder, value,
                                         session, policy))
    return opts


def _request(request):
    """A request id, 1 .. 2**128 - 1, as two words."""
    if not 0 < request < 1 << 128:
        raise ValueError("a request id is a number from 1 to 2**128 - 1")
    return (c_uint64 * 2)(request & (1 << 64) - 1, request >> 64)


def _more(info, request, holder, value, session, policy):
    more = _AcquireMore(size=ctypes.sizeof(_AcquireMore), policy=policy)
    if info is not None:
        more.info = _bytes(info, "info")
    if request is not None:
        more.request = _request(request)
    if holder is not None:
        more.holder = _bytes(holder, "the holder id")
    if session is not None:
        more.session = session.p
    if value is not None:
        data = bytes(value)
        more.bytes = ctypes.create_string_buffer(data, len(data) or 1)
        more.value = ctypes.cast(more.bytes, c_void_p)
        more.value_len = len(data)
    return more


def _items(keys, mode):
    """Names, or pairs of name and mode."""
    pairs = [k if isinstance(k, tuple) else (k, mode) for k in keys]
    return (_Item * len(pairs))(*[_Item(_bytes(k, "a key"), m)
                                  for k, m in pairs])


def _interruptible(call, opts, undo):
    """call(opts), which may wait; in the main thread so that a signal's Python
    handler runs, and ends the wait if it raises.  (A grant is undone then.)"""
    if (opts.max_wait_ms == 0 or
            _threading.current_thread() is not _threading.main_thread()):
        return _check(call(opts))
    cancel, out, ended = _Cancel(), [], _threading.Event()
    opts.cancel = ctypes.pointer(cancel)

    def wait():
        try:
            result = call(opts)
            out.append(_failure(result) if result < 0 else result)
        finally:
            ended.set()

    thread = _threading.Thread(target=wait, daemon=True)
    try:
        thread.start()
        ended.wait()
    except BaseException:
        _lib.lh_cancel(byref(cancel))
        if thread.ident is not None:
            thread.join()
        if out and not isinstance(out[0], Error):
            undo()
        raise
    thread.join()
    if isinstance(out[0], Error):
        raise out[0]
    return out[0]


class _Released:
    """Released at the end of its with block.  That it was lost meanwhile is
    raised, unless something else is."""

    def __exit__(self, kind, value, trace):
        try:
            self.release()
        except Lost:
            if kind is None:
                raise


class Lease(_Released):
    """One grant.  Released at the end of its with block, or when it goes."""

    def __init__(self, table, lease, session=None):
        self._table, self._lease, self._held = table, lease, True
        self._stays = session is not None       # in a named session

    id = property(lambda self: tuple(self._lease.id))
    token = property(lambda self: self._lease.token)
    mode = property(lambda self: self._lease.mode)
    notes = property(lambda self: self._lease.notes)
    expires_ns = property(lambda self: self._lease.expires_ns)

    def extend(self, ttl):
        """Move the deadline to ttl seconds from now.  Raises Lost."""
        _check(_lib.lh_extend(self._table.p, byref(self._lease), _ms(ttl)))

    def convert(self, mode, wait=0):
        """Change the mode, waiting for other readers to leave.  Raises Busy
        (they are there, and wait is 0), TimedOut, Deadlock, Lost."""
        table, lease = self._table.p, self._lease
        _interruptible(lambda opts: _lib.lh_convert_wait(
            table, byref(lease), mode, byref(opts)),
            _options(wait=wait), lambda: None)

    def hand_over(self, session):
        """To that Session, where it stays when this goes; None: back to the
        table's attachment.  Raises Lost."""
        _check(_lib.lh_handoff(self._table.p, byref(self._lease),
                               session.p if session is not None else None))
        self._stays = session is not None

    def info(self):
        """What is known of it now, as a dict: key, since (seconds ago), left
        (seconds; FOREVER: it does not run out), policy.  Raises Lost."""
        info = _LeaseInfo(size=sizeof(_LeaseInfo))
        _check(_lib.lh_lease_info(self._table.p, byref(self._lease),
                                  byref(info)))
        now_ns = _lib.lh_clock_ns(self._table.p)
        return {"key": info.key.decode("utf-8", "surrogateescape"),
                "since": (now_ns - info.acquired_ns) / 1e9,
                "left": FOREVER if info.expires_ns == _INT64_MAX else
                (info.expires_ns - now_ns) / 1e9, "policy": info.policy}

    def verify(self):
        """Is it still held, now?"""
        return _ask(_lib.lh_verify(self._table.p, byref(self._lease)),
                    _errno.ESTALE)

    def mark_consistent(self):
        """Declare that what the key guards has been repaired: the holder that
        left it (NOTE_INCONSISTENT in notes; acquire(robust=True)) is
        forgotten.  Raises Lost."""
        _check(_lib.lh_mark_consistent(self._table.p, byref(self._lease)))

    def set_value(self, value):
        """Set the key's value: up to 256 bytes; b"": none.  Raises Lost."""
        value = bytes(value)
        _check(_lib.lh_value_set(self._table.p, byref(self._lease), value,
                                 len(value)))

    @property
    def asked(self):
        """Has somebody asked for it, since this was last looked at?"""
        return _check(_lib.lh_lease_asked(self._table.p,
                                          byref(self._lease))) == 1

    def live(self, ttl=30, *, renew=None, warn=0):
        """A Lock that has it from now on, renewed by that ttl."""
        lock = Lock._adopting(self, ttl, renew, warn)
        self._held = False
        return lock

    def release_value(self, value):
        """set_value(), then release(): both, or what the first raises."""
        value = bytes(value)
        if self._held:
            _check(_lib.lh_release_value(self._table.p, byref(self._lease),
                                         value, len(value)))
            self._held = False

    def release(self):
        """Raises Lost if it had been lost; nothing more is held either way."""
        if self._held:
            self._held = False
            _check(_lib.lh_release(self._table.p, byref(self._lease)))

    def __enter__(self):
        return self

    def __del__(self):
        try:
            if not self._stays:
                self.release()
        except (Error, ValueError):
            pass


class Leases(_Released, tuple):
    """Those of many keys.  Released at the end of its with block."""

    def release(self):
        """All of them.  Raises Lost if one had been lost."""
        lost = None
        for lease in self:
            try:
                lease.release()
            except Lost as error:
                lost = error
        if lost is not None:
            raise lost

    def verify(self):
        """Are all still held, now?"""
        return all(lease.verify() for lease in self)

    def __enter__(self):
        return self


class Session:
    """A named session, as this process uses it: it lives for its ttl from each
    renewal, and holds its leases without a process.  name None: a new one.
    With pid it lives as long as that process, and is not renewed."""

    def __init__(self, table, name=None, *, ttl=15, lock_delay=0,
                 delete=False, with_maker=False, create=True, pid=0):
        opts = _SessionOpts(size=ctypes.sizeof(_SessionOpts),
                            ttl_ms=_ms(ttl), lock_delay_ms=_ms(lock_delay),
                            pid=pid,
                            on_end=1 if delete else 0,
                            flags=(_WITH_MAKER if with_maker else 0) |
                            (0 if create else _NO_CREATE))
        out = c_void_p()
        _check(_lib.lh_session_open(table.p, None if name is None else
                                    _bytes(name, "the name"), byref(opts),
                                    byref(out)))
        self._table = table
        self._handle = _Handle(out.value, self._end, table)

    p = property(lambda self: self._handle.p)

    @staticmethod
    def _end(pointer):
        _lib.lh_session_close(pointer)
        return 0

    def _info(self):
        info = _SessionInfo(size=ctypes.sizeof(_SessionInfo))
        _check(_lib.lh_session_info(self.p, byref(info)))
        return info

    name = property(lambda self: self._info().name.decode("utf-8",
                                                          "surrogateescape"))
    leases = property(lambda self: self._info().leases)

    def acquire(self, key, **how):
        """As Table.acquire(), into the session."""
        return self._table.acquire(key, session=self, **how)

    def renew(self):
        """The ttl in force, in seconds.  Raises Lost."""
        return _check(_lib.lh_session_renew(self.p)) / 1000

    def keep(self, on=True):
        """Renewed by a thread of this process, as long as this is open."""
        _check(_lib.lh_session_keep(self.p, 1 if on else 0))

    def destroy(self):
        """End it, and its leases."""
        _check(_lib.lh_session_destroy(self.p))

    def close(self):
        """It goes on."""
        self._handle.close()


class Table:
    """An attachment.  name None: $LEASEHOLD_TABLE, or "default".  all_local:
    every acquire through it is in scope LOCAL; a new table gets a fence
    file."""

    def __init__(self, name=None, *, system=False, create=True,
                 application=None, all_local=False):
        # what LH_OPEN_OPTS_INIT says
        opts = _OpenOpts(size=ctypes.sizeof(_OpenOpts), mode=0o600,
                         max_keys=1048576, max_sessions=1024,
                         max_leases=262144, group=2 ** 32 - 1,
                         flags=(_SYSTEM if system else 0) |
                         (_ALL_LOCAL if all_local else 0) |
                         (0 if create else _NO_CREATE))
        if application is not None:
            opts.application = _bytes(application, "the application")
        out = c_void_p()
        name = None if name is None else _bytes(name, "the name")
        # a table that is truncated must not end the interpreter; but for
        # programs with a handler of their own (faulthandler): EBUSY
        opts.flags |= _CATCH_SIGBUS
        error = _lib.lh_open(byref(out), name, byref(opts))
        if error == -_errno.EBUSY:
            opts.flags &= ~_CATCH_SIGBUS
            error = _lib.lh_open(byref(out), name, byref(opts))
        _check(error)
        self._handle = _Handle(out.value, _lib.lh_close)

    p = property(lambda self: self._handle.p)

    def acquire(self, key, **how):
        """A Lease.  Raises Busy, TimedOut, Deadlock, Lost.

        ttl=30, wait=3600: seconds; wait 0 or FOREVER.  mode=EXCLUSIVE,
        priority=0, scope=EPHEMERAL, create=True (if the key is new),
        policy=POLICY_LEASE.
        info: what for, in words that others are shown.  request: a number of
        128 bits (uuid.uuid4().int); repeated, it gets the same lease, or the
        same failure.  holder: who has the key in this process may acquire it
        again, and releases it as often.  session: the Session that it is to
        live in, where it stays when the Lease goes.  value: the key's, from the
        grant on.  shareable=True: other threads may release it.
        deadlock=False: wait for deadlines and do not raise Deadlock."""
        opts = _options(**how)
        name, lease, p = _bytes(key, "the key"), _Lease(), self.p
        _interruptible(
            lambda o: _lib.lh_acquire(p, name, byref(o), byref(lease)), opts,
            lambda: _lib.lh_release(p, byref(lease)))
        return Lease(self, lease, how.get("session"))

    def try_acquire(self, key, **how):
        """A Lease, or None if the key is busy."""
        try:
            return self.acquire(key, wait=0, **how)
        except Busy:
            return None

    def start(self, key, *, keep=False, **how):
        """A Ticket, which waits for the key without a thread; see there.  how:
        as acquire(); keep: renewed from the grant until it is finished."""
        return Ticket(self, key, keep, how)

    def semaphore(self, name, limit=0):
        """A Semaphore of so many permits; 0: those that it was made with."""
        return Semaphore(self, name, limit)

    def destroy_semaphore(self, name):
        """Forget it.  Raises Error (EBUSY) if it is used."""
        _check(_lib.lh_sem_destroy(self.p, _bytes(name, "the name")))

    def wait_free(self, key, wait=3600):
        """Until nobody holds the key; nothing is acquired.  Raises Busy (wait
        is 0), TimedOut."""
        name, p = _bytes(key, "the key"), self.p
        _interruptible(lambda o: _lib.lh_wait_free(p, name, byref(o)),
                       _options(wait=wait), lambda: None)

    def acquire_many(self, keys, *, mode=EXCLUSIVE, **how):
        """Leases on all of these keys (names, or pairs of name and mode), in
        their order; or, as with acquire(), none."""
        items, p = _items(keys, mode), self.p
        leases = (_Lease * len(items))()
        _interruptible(
            lambda o: _lib.lh_acquire_many(p, items, len(items), byref(o),
                                           leases),
            _options(**how), lambda: _lib.lh_release_many(p, leases,
                                                          len(items)))
        # (an element of an array keeps all of the array)
        return Leases(Lease(self, lease, how.get("session"))
                      for lease in leases)

    def recall(self, key, id, token):
        """The Lease on that key that has this id and token; it stays held when
        the Lease goes, as one in a session.  Raises Lost, NotFound."""
        lease = _Lease()
        _check(_lib.lh_lease_recall(self.p, _bytes(key, "the key"),
                                    byref((c_uint64 * 2)(*id)), token,
                                    byref(lease)))
        found = Lease(self, lease)
        found._stays = True
        return found

    def release_request(self, request, session=None):
        """End the lease that this request was granted (in that Session), if
        that was not done.  Raises Lost; Error (ENOENT): no such request is
        known."""
        _check(_lib.lh_release_request(
            self.p, None if session is None else session.p,
            byref(_request(request))))

    def lock(self, key, **how):
        """A Lock on that key; see there."""
        return Lock(self, key, **how)

    def lock_many(self, keys, *, mode=EXCLUSIVE, **how):
        """A Lock on all of these keys (names, or pairs of name and mode): had,
        renewed, lost and released together."""
        return Lock(self, _items(keys, mode), **how)

    def session(self, name=None, **how):
        """A Session; see there."""
        return Session(self, name, **how)

    def sessions(self, prefix=""):
        """The named sessions that live (and whose names begin so): a list of
        dicts with name, id, ttl, lock_delay, left (seconds), leases, pid."""
        told, p = [], self.p

        @_SessionFn
        def tell(pointer, _):
            i, now = pointer.contents, _lib.lh_clock_ns(p)
            told.append({
                "name": i.name.decode("utf-8", "surrogateescape"),
                "id": i.id, "ttl": i.ttl_ms / 1000,
                "lock_delay": i.lock_delay_ms / 1000,
                "left": (i.expires_ns - now) / 1e9, "leases": i.leases,
                "pid": i.pid})
            return 0

        _check(_lib.lh_session_list(p, _bytes(prefix, "the prefix"), tell,
                                    None))
        return told

    def _look(self, call):
        """What call tells its function of keys."""
        told, p = [], self.p

        @_KeyFn
        def tell(pointer, _):
            told.append(_around(pointer.contents, _lib.lh_clock_ns(p)))
            return 0

        return told if _ask(call(p, tell), _errno.ENOENT) else []

    def list(self, prefix=""):
        """Every key whose name begins so, and those around it: dicts as
        explain() gives, but for what they do."""
        return self._look(lambda p, tell: _lib.lh_list(
            p, _bytes(prefix, "the prefix"), tell, None))

    def status(self, key):
        """The same of one key; None: no such key."""
        told = self._look(lambda p, tell: _lib.lh_status(
            p, _bytes(key, "the key"), None, tell, None))
        return told[0] if told else None

    def explain(self, key):
        """The holders and waiters of a key; None: no such key.  A dict with
        key (bytes), token, rank (of a wait of this attachment; 0: none),
        moved, delayed (seconds for which it is kept back), holders and
        waiters.  The last two are lists of dicts with id, pid, application,
        info, mode, run and since (seconds ago).  run is running, sleeping,
        blocked, stopped, dead, or None: it cannot be seen.  Holders also have
        token, left (seconds) and waits_for (the key, as bytes, that the
        thread waits for).  Waiters also have rank and priority."""
        told = self._look(lambda p, tell: _lib.lh_explain(
            p, _bytes(key, "the key"), tell, None))
        return told[0] if told else None

    def check(self):
        """What is wrong with the table: sentences; none, if it is sound.
        Error with EIO: it is sound, but its fence directory cannot be used."""
        found = []
        finding = _FindingFn(lambda text, _: found.append(
            text.decode("utf-8", "replace")))
        _check(_lib.lh_check(self.p, finding, None))
        return found

    def create(self, key):
        """Make a key that stays."""
        _check(_lib.lh_key_create(self.p, _bytes(key, "the key")))

    def destroy(self, key):
        """Forget a key.  Raises Error (EBUSY: in use; EALREADY: by us)."""
        _check(_lib.lh_destroy(self.p, _bytes(key, "the key")))

    def verify(self, key, token):
        """Is that the token of a present lease of the key?"""
        return _ask(_lib.lh_verify_token(self.p, _bytes(key, "the key"),
                                         _token(token)), _errno.ESTALE)

    def value(self, key):
        """The key's value and the token under which it was set, or None."""
        buf, size, token = ctypes.create_string_buffer(256), c_size_t(), \
            c_uint64()
        found = _ask(_lib.lh_value_get(self.p, _bytes(key, "the key"), buf,
                                       byref(size), byref(token)),
                     _errno.ENOENT)
        return (buf.raw[:size.value], token.value) if found and size.value \
            else None

    def ask_release(self, key):
        """Ask whoever holds the key to release it.  How many they are."""
        return _check(_lib.lh_ask_release(self.p, _bytes(key, "the key"),
                                          None, 0))

    def break_(self, key):
        """End all leases on the key, whoever has them.  How many they were."""
        return _check(_lib.lh_break(self.p, _bytes(key, "the key"), None, 0))

    def close(self):
        """Detach; what is held is released."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close()


class Lock(_Released):
    """A lease that renews itself and reports its loss.

    Acquired and released any number of times; released at the end of its with
    block.  renew: seconds between renewals, 0 for never, None for a third of
    the ttl.  warn: seconds before the deadline at which watches are warned.
    how: as Table.acquire().
    """

    def __init__(self, table, key, *, renew=None, warn=0, **how):
        opts, out = self._opts(renew, warn), c_void_p()
        _options(**how)                         # says so if they make no sense
        if isinstance(key, ctypes.Array):       # of items
            _check(_lib.lh_lock_open_many(table.p, key, len(key), byref(opts),
                                          byref(out)))
        else:
            _check(_lib.lh_lock_open(table.p, _bytes(key, "the key"),
                                     byref(opts), byref(out)))
        self._begin(out, table, how)

    @staticmethod
    def _opts(renew, warn):
        return _LockOpts(size=ctypes.sizeof(_LockOpts), warn_ms=_ms(warn),
                         renew_ms=-1 if renew is None else _ms(renew))

    def _begin(self, out, table, how):
        self._handle = _Handle(out.value, _lib.lh_lock_close, table)
        self._how, self._adopted = how, False

    @classmethod
    def _adopting(cls, lease, ttl, renew, warn):
        self, out, opts = cls.__new__(cls), c_void_p(), cls._opts(renew, warn)
        _check(_lib.lh_lock_adopt(lease._table.p, byref(lease._lease),
                                  _ms(ttl), byref(opts), byref(out)))
        self._begin(out, lease._table, {"ttl": ttl, "mode": lease.mode})
        self._adopted = True
        return self

    p = property(lambda self: self._handle.p)

    def acquire(self, wait=None):
        """Raises Busy, TimedOut; Error (EALREADY) if it is held already."""
        opts, p = _options(**self._how), self.p
        if wait is not None:
            opts.max_wait_ms = _ms(wait)
        _interruptible(lambda o: _lib.lh_lock_acquire(p, byref(o)), opts,
                       lambda: _lib.lh_lock_release(p))
        return self

    def try_acquire(self):
        """False if the key is busy; does not wait."""
        try:
            self.acquire(0)
        except Busy:
            return False
        return True

    def release(self):
        """Raises Lost if it had been lost."""
        _check(_lib.lh_lock_release(self.p))

    @property
    def valid(self):
        """Is it held, now, as far as this process knows?"""
        return _ask(_lib.lh_lock_valid(self.p), _errno.ESTALE)

    def _state(self):
        state = _LockState(size=ctypes.sizeof(_LockState))
        _check(_lib.lh_lock_state(self.p, byref(state)))
        return state

    status = property(lambda self: self._state().status)
    token = property(lambda self: self._state().lease.token)
    renewals = property(lambda self: self._state().renewals)
    loss = property(lambda self: LOSSES.get(self._state().loss, "unknown"),
                    doc="Why it was lost, or None.")

    def tokens(self):
        """One for each key, in their order."""
        tokens, lease = [], _Lease()
        while _ask(_lib.lh_lock_lease(self.p, len(tokens), byref(lease)),
                   _errno.EINVAL):
            tokens.append(lease.token)
        return tokens

    def extend(self, ttl):
        """Move the deadline to ttl seconds from now, also for renewals."""
        _check(_lib.lh_lock_extend(self.p, _ms(ttl), None))

    def renew_every(self, seconds):
        """None: every third of the ttl; 0: never again."""
        _check(_lib.lh_lock_renew_every(
            self.p, -1 if seconds is None else _ms(seconds)))

    def watch(self, what=0):
        """A Watch on those changes (bits), or on all."""
        return Watch(self, what)

    def close(self):
        """Without release: the lease is left to its deadline."""
        self._handle.close()

    def __enter__(self):
        if self._adopted:                       # and held
            self._adopted = False
            return self
        return self.acquire()

    def __del__(self):
        try:
            _lib.lh_lock_release(self.p)
            self.close()
        except (AttributeError, ValueError, Error):
            pass


class Ticket:
    """A place in a key's queue, without a thread that waits: for select and its
    like, it has a fileno().  Given up at the end of its with block, or when it
    goes, unless it was finished."""

    def __init__(self, table, key, keep, how):
        opts, out = _options(**how), c_void_p()
        opts.flags |= _KEEP if keep else 0
        self._table, self._session = table, how.get("session")
        _check(_lib.lh_acquire_start(table.p, _bytes(key, "the key"),
                                     byref(opts), byref(out)))
        self._handle = _Handle(out.value, _lib.lh_ticket_cancel, table)

    def fileno(self):
        """Readable when finish() has something to say."""
        return _check(_lib.lh_ticket_fd(self._handle.p))

    @property
    def rank(self):
        """Its place in the queue: 1 is the first; 0: there is an answer."""
        return _check(_lib.lh_ticket_rank(self._handle.p))

    def finish(self):
        """The Lease; None: not yet.  Raises TimedOut, Lost, Deadlock.  After a
        Lease or a failure it is over."""
        lease = _Lease()
        result = _lib.lh_ticket_finish(self._handle.p, byref(lease))
        if result == -_errno.EAGAIN:
            return None
        if result not in (-_errno.EINVAL, -_errno.EPERM):
            self._handle.gone()
        _check(result)
        return Lease(self._table, lease, self._session)

    def cancel(self):
        """Give it up; a grant that came first is released."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.cancel()


class Semaphore:
    """Up to so many holders at once; a permit is a Lease."""

    def __init__(self, table, name, limit=0):
        out = c_void_p()
        _check(_lib.lh_sem_open(table.p, _bytes(name, "the name"), limit,
                                byref(out)))
        self._table = table
        self._handle = _Handle(out.value, _lib.lh_sem_close, table)

    def acquire(self, **how):
        """A permit, as Table.acquire() a key.  Raises Busy, TimedOut."""
        p, table, lease = self._handle.p, self._table.p, _Lease()
        _interruptible(
            lambda o: _lib.lh_sem_acquire(p, byref(o), byref(lease)),
            _options(**how), lambda: _lib.lh_release(table, byref(lease)))
        return Lease(self._table, lease, how.get("session"))

    def try_acquire(self, **how):
        """A permit, or None if all are held."""
        try:
            return self.acquire(wait=0, **how)
        except Busy:
            return None

    def _status(self):
        status = _SemStatus(size=ctypes.sizeof(_SemStatus))
        _check(_lib.lh_sem_status(self._handle.p, byref(status)))
        return status

    limit = property(lambda self: self._status().limit)
    held = property(lambda self: self._status().held)
    waiting = property(lambda self: self._status().waiting)

    def close(self):
        """Permits stay with their holders."""
        self._handle.close()


class Watch:
    """Changes of a Lock, for select and its like: it has a fileno().  Iterating
    gives the Events that there are by now."""

    def __init__(self, lock, what=0):
        out = c_void_p()
        _check(_lib.lh_lock_watch(lock.p, what, byref(out)))
        self._handle = _Handle(out.value, _lib.lh_watch_close)

    def fileno(self):
        return _check(_lib.lh_watch_fd(self._handle.p))

    def __iter__(self):
        return self

    def __next__(self):
        event = Event(size=ctypes.sizeof(Event))
        if not _ask(_lib.lh_watch_next(self._handle.p, byref(event)),
                    _errno.EAGAIN):
            raise StopIteration
        return event

    def close(self):
        self._handle.close()


class Gate:
    """The largest token that has been at a resource, kept in a file."""

    def __init__(self, path, resource=None, *, durable=False, create=True):
        out = c_void_p()
        _check(_lib.lh_gate_open(
            byref(out), _bytes(path, "the path"),
            None if resource is None else _bytes(resource, "the resource"),
            (_GATE_DURABLE if durable else 0) | (0 if create else _NO_CREATE)))
        self._handle = _Handle(out.value, _lib.lh_gate_close)

    def check(self, token, mode=EXCLUSIVE):
        """May the holder of that token pass?  Raises if that is not known."""
        return _ask(_lib.lh_gate_check(self._handle.p, _token(token),
                                       mode), _errno.ESTALE)

    def marks(self):
        """The largest exclusive and shared tokens that have been shown."""
        exclusive, shared = c_uint64(), c_uint64()
        _check(_lib.lh_gate_marks(self._handle.p, byref(exclusive),
                                  byref(shared)))
        return exclusive.value, shared.value

    def close(self):
        self._handle.close()


def remove_table(name=None, *, system=False, force=False):
    """Remove a table; force: also while it is in use."""
    _check(_lib.lh_table_remove(
        None if name is None else _bytes(name, "the name"),
        (_SYSTEM if system else 0) | (_FORCE if force else 0)))
