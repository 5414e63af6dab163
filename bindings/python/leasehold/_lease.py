# SPDX-License-Identifier: MIT
"""Leases: grants of keys."""

from __future__ import annotations

import errno
from ctypes import byref, sizeof
from typing import TYPE_CHECKING, Any, Tuple

from ._constants import FOREVER, SHARED
from ._errors import Error, Lost, ask, check
from ._library import _INT64_MAX as INT64_MAX
from ._library import _Lease, _LeaseInfo, lib
from ._lock import Lock
from ._options import How, ms, value_of
from ._wait import Released, interruptible

if TYPE_CHECKING:
    from ._session import Session
    from ._table import Table


class Lease(Released):
    """One grant.  Released at the end of its with block, or when it goes."""

    def __init__(self, table: Table, lease: _Lease,
                 session: Session | None = None, key: str = "") -> None:
        self._table, self._lease, self._held = table, lease, True
        self._stays = session is not None       # in a named session
        self._key = key                         # as a repr shows it

    def __repr__(self) -> str:
        return "<leasehold.Lease %s %s, token %d%s>" % (
            self._key, "shared" if self.mode == SHARED else "exclusive",
            self.token, "" if self._held else ", released")

    @property
    def id(self) -> tuple[int, int]:
        return self._lease.id[0], self._lease.id[1]

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every earlier holder."""
        return int(self._lease.token)

    @property
    def mode(self) -> int:
        return int(self._lease.mode)

    @property
    def notes(self) -> int:
        """NOTE_... of the grant: how the holder before ended."""
        return int(self._lease.notes)

    @property
    def expires_ns(self) -> int:
        return int(self._lease.expires_ns)

    def extend(self, ttl: float) -> None:
        """Move the deadline to ttl seconds from now.  Raises Lost."""
        check(lib.lh_extend(self._table.p, byref(self._lease), ms(ttl)))

    def convert(self, mode: int, wait: float = 0) -> None:
        """Change the mode, waiting for other readers to leave.  Raises Busy
        (they are there, and wait is 0), TimedOut, Deadlock, Lost."""
        table, lease = self._table.p, self._lease
        interruptible(lambda opts: lib.lh_convert_wait(
            table, byref(lease), mode, byref(opts)),
            How(wait=wait).options(), lambda: None)

    def hand_over(self, session: Session | None) -> None:
        """To that Session, where it stays when this goes; None: back to the
        table's attachment.  Raises Lost."""
        check(lib.lh_handoff(self._table.p, byref(self._lease),
                               session.p if session is not None else None))
        self._stays = session is not None

    def info(self) -> dict[str, Any]:
        """What is known of it now, as a dict: key, since (seconds ago), left
        (seconds; FOREVER: it does not run out), policy.  Raises Lost."""
        info = _LeaseInfo(size=sizeof(_LeaseInfo))
        check(lib.lh_lease_info(self._table.p, byref(self._lease),
                                  byref(info)))
        now_ns = lib.lh_clock_ns(self._table.p)
        return {"key": info.key.decode("utf-8", "surrogateescape"),
                "since": (now_ns - info.acquired_ns) / 1e9,
                "left": FOREVER if info.expires_ns == INT64_MAX else
                (info.expires_ns - now_ns) / 1e9, "policy": info.policy}

    def verify(self) -> bool:
        """Is it still held, now?"""
        return ask(lib.lh_verify(self._table.p, byref(self._lease)),
                    errno.ESTALE)

    def mark_consistent(self) -> None:
        """Declare that what the key guards has been repaired: the holder that
        left it (NOTE_INCONSISTENT in notes; acquire(robust=True)) is
        forgotten.  Raises Lost."""
        check(lib.lh_mark_consistent(self._table.p, byref(self._lease)))

    def set_value(self, value: bytes) -> None:
        """Set the key's value: up to 256 bytes; b"": none.  Raises Lost."""
        value = value_of(value)
        check(lib.lh_value_set(self._table.p, byref(self._lease), value,
                                 len(value)))

    @property
    def asked(self) -> bool:
        """Has somebody asked for it, since this was last looked at?"""
        return check(lib.lh_lease_asked(self._table.p,
                                          byref(self._lease))) == 1

    def live(self, ttl: float = 30, *, renew: float | None = None,
             warn: float = 0) -> Lock:
        """A Lock that has it from now on, renewed by that ttl."""
        lock = Lock.adopt(self, ttl, renew, warn)
        self._held = False
        return lock

    def release_value(self, value: bytes) -> None:
        """set_value(), then release(): both, or what the first raises."""
        value = value_of(value)
        if self._held:
            check(lib.lh_release_value(self._table.p, byref(self._lease),
                                         value, len(value)))
            self._held = False

    def release(self) -> None:
        """Raises Lost if it had been lost; nothing more is held either way."""
        if self._held:
            self._held = False
            check(lib.lh_release(self._table.p, byref(self._lease)))

    def __enter__(self) -> Lease:
        return self

    async def __aenter__(self) -> Lease:
        return self

    def __del__(self) -> None:
        try:
            if not self._stays:
                self.release()
        except (Error, ValueError):
            pass


class Leases(Released, Tuple[Lease, ...]):
    """Those of many keys.  Released at the end of its with block."""

    def release(self) -> None:
        """All of them.  Raises Lost if one had been lost."""
        lost = None
        for lease in self:
            try:
                lease.release()
            except Lost as error:
                lost = error
        if lost is not None:
            raise lost

    def verify(self) -> bool:
        """Are all still held, now?"""
        return all(lease.verify() for lease in self)

    def __repr__(self) -> str:
        return "<leasehold.Leases (%s)>" % ", ".join(map(repr, self))

    def __enter__(self) -> Leases:
        return self

    async def __aenter__(self) -> Leases:
        return self
