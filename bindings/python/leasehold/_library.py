# SPDX-License-Identifier: MIT
"""The structures and functions of libleasehold, as ctypes calls them."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import (POINTER, c_char, c_char_p, c_int, c_int32, c_int64,
                    c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)
from typing import Any

_SYSTEM, _NO_CREATE, _FORCE, _GATE_DURABLE = 0x1, 0x2, 0x10, 0x100
_ALL_LOCAL, _CATCH_SIGBUS, _WITH_MAKER = 0x200, 0x400, 0x10000
_SHAREABLE, _NO_DEADLOCK, _KEEP = 0x100, 0x200, 0x400
_ROBUST = 0x2000
_INT64_MAX = 2 ** 63 - 1


_INTEGERS: tuple[Any, ...] = (c_int, c_int32, c_int64, c_size_t, c_uint8,
                              c_uint16, c_uint32, c_uint64)


def _in_range(number: Any, ctype: Any, what: str) -> Any:
    """The number, which ctypes would silently cut to its lowest bits."""
    bits = 8 * ctypes.sizeof(ctype)
    low, high = 0, 1 << bits
    if ctype(-1).value < 0:
        low, high = -high // 2, high // 2
    if isinstance(number, int) and not low <= number < high:
        raise ValueError("%s: %d is not a number from %d to %d" %
                         (what, number, low, high - 1))
    return number


class Structure(ctypes.Structure):
    """One whose integers have to fit."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = [field[0] for field in self._fields_]
        given = {**dict(zip(names, args)), **kwargs}
        for name, ctype in [field[:2] for field in self._fields_]:
            if ctype in _INTEGERS and name in given:
                _in_range(given[name], ctype, name)
        super().__init__(*args, **kwargs)


def _argument(ctype: Any) -> Any:
    """An argument's type: that one, but its integers have to fit (else
    ctypes.ArgumentError)."""
    def from_param(number: Any) -> Any:
        return ctype(_in_range(number, ctype, "it"))

    return ctype if ctype not in _INTEGERS else type(
        "argument", (), {"from_param": staticmethod(from_param)})


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


def _load() -> ctypes.CDLL:
    name = (os.environ.get("LEASEHOLD_LIBRARY") or
            ctypes.util.find_library("leasehold") or "libleasehold.so.0")
    lib = ctypes.CDLL(name)
    p: Any = c_void_p
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
        f.argtypes, f.restype = [_argument(a) for a in args], c_int
    for fn, result in (("lh_session_renew", c_int64),
                       ("lh_session_close", None)):
        f = getattr(lib, fn)
        f.argtypes, f.restype = [p], result
    lib.lh_clock_ns.argtypes, lib.lh_clock_ns.restype = [p], c_int64
    lib.lh_version.argtypes, lib.lh_version.restype = [p], c_char_p
    lib.lh_error_detail.restype = c_char_p
    lib.lh_strerror.restype = c_char_p
    return lib


lib = _load()
