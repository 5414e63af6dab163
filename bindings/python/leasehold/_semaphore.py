# SPDX-License-Identifier: MIT
"""Semaphores."""

from __future__ import annotations

from ctypes import byref, c_void_p, sizeof
from typing import TYPE_CHECKING, Callable

from ._constants import EPHEMERAL, EXCLUSIVE, POLICY_LEASE
from ._errors import Busy, check
from ._lease import Lease
from ._library import _AcquireOpts, _Lease, _SemStatus, lib
from ._options import How, Text, bytes_of, shown
from ._wait import Handle, awaited, interruptible

if TYPE_CHECKING:
    from ._session import Session
    from ._table import Table


class Semaphore:
    """Up to so many holders at once; a permit is a Lease."""

    def __init__(self, table: Table, name: Text, limit: int = 0) -> None:
        out = c_void_p()
        check(lib.lh_sem_open(table.p, bytes_of(name, "the name"), limit,
                              byref(out)))
        self._table, self._name = table, shown(name)
        self._handle = Handle(out.value, lib.lh_sem_close, table)

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<leasehold.Semaphore %s, closed>" % self._name
        return "<leasehold.Semaphore %s, %d of %d held>" % (
            self._name, self.held, self.limit)

    def _permit(self, how: How) -> tuple[
            Callable[[_AcquireOpts], int], Callable[[], object],
            Callable[[], Lease]]:
        """How to acquire one, to undo that, and to make its Lease."""
        p, table, lease = self._handle.p, self._table.p, _Lease()
        return (lambda o: int(lib.lh_sem_acquire(p, byref(o), byref(lease))),
                lambda: lib.lh_release(table, byref(lease)),
                lambda: Lease(self._table, lease, how.session, self._name))

    def acquire(self, *, ttl: float = 30, wait: float = 3600,
                mode: int = EXCLUSIVE, priority: int = 0,
                scope: int = EPHEMERAL, create: bool = True,
                info: Text | None = None, request: int | None = None,
                holder: Text | None = None, value: bytes | None = None,
                session: Session | None = None, policy: int = POLICY_LEASE,
                shareable: bool = False, deadlock: bool = True,
                robust: bool = False) -> Lease:
        """A permit, as Table.acquire() a key.  Raises Busy, TimedOut."""
        how = How(ttl, wait, mode, priority, scope, create, info, request,
                  holder, value, session, policy, shareable, deadlock, robust)
        call, undo, lease = self._permit(how)
        interruptible(call, how.options(), undo)
        return lease()

    async def acquire_async(self, *, ttl: float = 30, wait: float = 3600,
                            mode: int = EXCLUSIVE, priority: int = 0,
                            scope: int = EPHEMERAL, create: bool = True,
                            info: Text | None = None,
                            request: int | None = None,
                            holder: Text | None = None,
                            value: bytes | None = None,
                            session: Session | None = None,
                            policy: int = POLICY_LEASE,
                            shareable: bool = False, deadlock: bool = True,
                            robust: bool = False) -> Lease:
        """The same in a task; a thread of its event loop's waits."""
        how = How(ttl, wait, mode, priority, scope, create, info, request,
                  holder, value, session, policy, shareable, deadlock, robust)
        call, undo, lease = self._permit(how)
        await awaited(call, how.options(), undo)
        return lease()

    def try_acquire(self, *, ttl: float = 30, mode: int = EXCLUSIVE,
                    priority: int = 0, scope: int = EPHEMERAL,
                    create: bool = True, info: Text | None = None,
                    request: int | None = None, holder: Text | None = None,
                    value: bytes | None = None, session: Session | None = None,
                    policy: int = POLICY_LEASE, shareable: bool = False,
                    deadlock: bool = True,
                    robust: bool = False) -> Lease | None:
        """A permit, or None if all are held."""
        try:
            return self.acquire(
                ttl=ttl, wait=0, mode=mode, priority=priority, scope=scope,
                create=create, info=info, request=request, holder=holder,
                value=value, session=session, policy=policy,
                shareable=shareable, deadlock=deadlock, robust=robust)
        except Busy:
            return None

    def _status(self) -> _SemStatus:
        status = _SemStatus(size=sizeof(_SemStatus))
        check(lib.lh_sem_status(self._handle.p, byref(status)))
        return status

    @property
    def limit(self) -> int:
        return int(self._status().limit)

    @property
    def held(self) -> int:
        return int(self._status().held)

    @property
    def waiting(self) -> int:
        return int(self._status().waiting)

    def close(self) -> None:
        """Permits stay with their holders."""
        self._handle.close()
