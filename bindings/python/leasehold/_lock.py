# SPDX-License-Identifier: MIT
"""Locks that renew themselves, and their changes."""

from __future__ import annotations

import ctypes
import errno
from ctypes import byref, c_void_p, sizeof
from typing import TYPE_CHECKING

from ._constants import (EPHEMERAL, EXCLUSIVE, FREE, HELD, LOSSES, LOST,
                         POLICY_LEASE)
from ._errors import Busy, Error, ask, check
from ._library import (Event, _AcquireOpts, _Item, _Lease, _LockOpts,
                       _LockState, lib)
from ._options import How, Text, bytes_of, ms, shown
from ._wait import Handle, Released, awaited, interruptible

if TYPE_CHECKING:
    from ._lease import Lease
    from ._session import Session
    from ._table import Table


class Lock(Released):
    """A lease that renews itself and reports its loss.

    Acquired and released any number of times; released at the end of its with
    block.  renew: seconds between renewals, 0 for never, None for a third of
    the ttl.  warn: seconds before the deadline at which watches are warned.
    The others are those of Table.acquire().
    """

    def __init__(self, table: Table, key: Text | ctypes.Array[_Item], *,
                 renew: float | None = None, warn: float = 0,
                 ttl: float = 30, wait: float = 3600, mode: int = EXCLUSIVE,
                 priority: int = 0, scope: int = EPHEMERAL,
                 create: bool = True, info: Text | None = None,
                 request: int | None = None, holder: Text | None = None,
                 value: bytes | None = None, session: Session | None = None,
                 policy: int = POLICY_LEASE, shareable: bool = False,
                 deadlock: bool = True, robust: bool = False) -> None:
        opts, out = self._opts(renew, warn), c_void_p()
        how = How(ttl, wait, mode, priority, scope, create, info, request,
                  holder, value, session, policy, shareable, deadlock, robust)
        how.options()                           # says so if they make no sense
        if isinstance(key, ctypes.Array):       # of items
            check(lib.lh_lock_open_many(table.p, key, len(key), byref(opts),
                                        byref(out)))
            name = ", ".join(shown(item.key) for item in key)
        else:
            check(lib.lh_lock_open(table.p, bytes_of(key, "the key"),
                                   byref(opts), byref(out)))
            name = shown(key)
        self._begin(out, table, how, name)

    @staticmethod
    def _opts(renew: float | None, warn: float) -> _LockOpts:
        return _LockOpts(size=sizeof(_LockOpts), warn_ms=ms(warn),
                         renew_ms=-1 if renew is None else ms(renew))

    def _begin(self, out: c_void_p, table: Table, how: How,
               name: str) -> None:
        self._handle = Handle(out.value, lib.lh_lock_close, table)
        self._how, self._adopted, self._name = how, False, name

    @classmethod
    def adopt(cls, lease: Lease, ttl: float = 30, renew: float | None = None,
              warn: float = 0) -> Lock:
        """A Lock that has this lease from now on; as Lease.live()."""
        self, out, opts = cls.__new__(cls), c_void_p(), cls._opts(renew, warn)
        check(lib.lh_lock_adopt(lease._table.p, byref(lease._lease), ms(ttl),
                                byref(opts), byref(out)))
        self._begin(out, lease._table, How(ttl=ttl, mode=lease.mode),
                    lease._key)
        self._adopted = True
        return self

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<leasehold.Lock %s, closed>" % self._name
        state = self._state()
        return "<leasehold.Lock %s, %s>" % (self._name, {
            FREE: "free", HELD: "held with token %d" % state.lease.token,
            LOST: "lost: %s" % self.loss}[state.status])

    @property
    def p(self) -> int:
        return self._handle.p

    def acquire(self, wait: float | None = None) -> Lock:
        """Raises Busy, TimedOut; Error (EALREADY) if it is held already."""
        opts, p = self._wanted(wait), self.p
        interruptible(lambda o: lib.lh_lock_acquire(p, byref(o)), opts,
                       lambda: lib.lh_lock_release(p))
        return self

    def _wanted(self, wait: float | None) -> _AcquireOpts:
        how = self._how
        return (how if wait is None else how._replace(wait=wait)).options()

    def try_acquire(self) -> bool:
        """False if the key is busy; does not wait."""
        try:
            self.acquire(0)
        except Busy:
            return False
        return True

    def release(self) -> None:
        """Raises Lost if it had been lost."""
        check(lib.lh_lock_release(self.p))

    @property
    def valid(self) -> bool:
        """Is it held, now, as far as this process knows?"""
        return ask(lib.lh_lock_valid(self.p), errno.ESTALE)

    def _state(self) -> _LockState:
        state = _LockState(size=sizeof(_LockState))
        check(lib.lh_lock_state(self.p, byref(state)))
        return state

    @property
    def status(self) -> int:
        """FREE, HELD or LOST."""
        return int(self._state().status)

    @property
    def token(self) -> int:
        return int(self._state().lease.token)

    @property
    def renewals(self) -> int:
        return int(self._state().renewals)

    @property
    def loss(self) -> str | None:
        """Why it was lost, or None."""
        return LOSSES.get(self._state().loss, "unknown")

    def tokens(self) -> list[int]:
        """One for each key, in their order."""
        lease = _Lease()
        tokens: list[int] = []
        while ask(lib.lh_lock_lease(self.p, len(tokens), byref(lease)),
                   errno.EINVAL):
            tokens.append(lease.token)
        return tokens

    def extend(self, ttl: float) -> None:
        """Move the deadline to ttl seconds from now, also for renewals."""
        check(lib.lh_lock_extend(self.p, ms(ttl), None))

    def renew_every(self, seconds: float | None) -> None:
        """None: every third of the ttl; 0: never again."""
        check(lib.lh_lock_renew_every(
            self.p, -1 if seconds is None else ms(seconds)))

    def watch(self, what: int = 0) -> Watch:
        """A Watch on those changes (bits), or on all."""
        return Watch(self, what)

    def close(self) -> None:
        """Without release: the lease is left to its deadline."""
        self._handle.close()

    def __enter__(self) -> Lock:
        if self._adopted:                       # and held
            self._adopted = False
            return self
        return self.acquire()

    async def __aenter__(self) -> Lock:
        if self._adopted:
            return self.__enter__()
        p = self.p
        await awaited(lambda o: lib.lh_lock_acquire(p, byref(o)),
                      self._wanted(None), lambda: lib.lh_lock_release(p))
        return self

    def __del__(self) -> None:
        try:
            lib.lh_lock_release(self.p)
            self.close()
        except (AttributeError, ValueError, Error):
            pass


class Watch:
    """Changes of a Lock, for select and its like: it has a fileno().  Iterating
    gives the Events that there are by now."""

    def __init__(self, lock: Lock, what: int = 0) -> None:
        out = c_void_p()
        check(lib.lh_lock_watch(lock.p, what, byref(out)))
        self._handle = Handle(out.value, lib.lh_watch_close)

    def fileno(self) -> int:
        return check(lib.lh_watch_fd(self._handle.p))

    def __repr__(self) -> str:
        return "<leasehold.Watch%s>" % (
            ", closed" if self._handle.closed else "")

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Event:
        event = Event(size=sizeof(Event))
        if not ask(lib.lh_watch_next(self._handle.p, byref(event)),
                    errno.EAGAIN):
            raise StopIteration
        return event

    def close(self) -> None:
        self._handle.close()
