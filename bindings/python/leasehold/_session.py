# SPDX-License-Identifier: MIT
"""Named sessions."""

from __future__ import annotations

from ctypes import byref, c_void_p, sizeof
from typing import TYPE_CHECKING

from ._constants import EPHEMERAL, EXCLUSIVE, POLICY_LEASE
from ._errors import Lost, check
from ._library import (_NO_CREATE, _WITH_MAKER, _SessionInfo, _SessionOpts,
                       lib)
from ._options import Text, bytes_of, ms
from ._wait import Handle

if TYPE_CHECKING:
    from ._lease import Lease
    from ._table import Table


class Session:
    """A named session, as this process uses it: it lives for its ttl from each
    renewal, and holds its leases without a process.  name None: a new one.
    With pid it lives as long as that process, and is not renewed."""

    def __init__(self, table: Table, name: Text | None = None, *,
                 ttl: float = 15, lock_delay: float = 0, delete: bool = False,
                 with_maker: bool = False, create: bool = True,
                 pid: int = 0) -> None:
        opts = _SessionOpts(size=sizeof(_SessionOpts),
                            ttl_ms=ms(ttl), lock_delay_ms=ms(lock_delay),
                            pid=pid,
                            on_end=1 if delete else 0,
                            flags=(_WITH_MAKER if with_maker else 0) |
                            (0 if create else _NO_CREATE))
        out = c_void_p()
        check(lib.lh_session_open(table.p, None if name is None else
                                    bytes_of(name, "the name"), byref(opts),
                                    byref(out)))
        self._table = table
        self._handle = Handle(out.value, self._end, table)

    def __repr__(self) -> str:
        if self._handle.closed:
            return "<leasehold.Session, closed>"
        try:
            return "<leasehold.Session %r, %d leases>" % (self.name,
                                                          self.leases)
        except Lost:
            return "<leasehold.Session, ended>"

    @property
    def p(self) -> int:
        return self._handle.p

    @staticmethod
    def _end(pointer: int) -> int:
        lib.lh_session_close(pointer)
        return 0

    def _info(self) -> _SessionInfo:
        info = _SessionInfo(size=sizeof(_SessionInfo))
        check(lib.lh_session_info(self.p, byref(info)))
        return info

    @property
    def name(self) -> str:
        name: bytes = self._info().name
        return name.decode("utf-8", "surrogateescape")

    @property
    def leases(self) -> int:
        return int(self._info().leases)

    def acquire(self, key: Text, *, ttl: float = 30, wait: float = 3600,
                mode: int = EXCLUSIVE, priority: int = 0,
                scope: int = EPHEMERAL, create: bool = True,
                info: Text | None = None, request: int | None = None,
                holder: Text | None = None, value: bytes | None = None,
                policy: int = POLICY_LEASE, shareable: bool = False,
                deadlock: bool = True, robust: bool = False) -> Lease:
        """As Table.acquire(), into the session."""
        return self._table.acquire(
            key, ttl=ttl, wait=wait, mode=mode, priority=priority,
            scope=scope, create=create, info=info, request=request,
            holder=holder, value=value, session=self, policy=policy,
            shareable=shareable, deadlock=deadlock, robust=robust)

    def renew(self) -> float:
        """The ttl in force, in seconds.  Raises Lost."""
        return check(lib.lh_session_renew(self.p)) / 1000

    def keep(self, on: bool = True) -> None:
        """Renewed by a thread of this process, as long as this is open."""
        check(lib.lh_session_keep(self.p, 1 if on else 0))

    def destroy(self) -> None:
        """End it, and its leases."""
        check(lib.lh_session_destroy(self.p))

    def close(self) -> None:
        """It goes on."""
        self._handle.close()
