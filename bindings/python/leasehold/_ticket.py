# SPDX-License-Identifier: MIT
"""Waits without a thread."""

from __future__ import annotations

import asyncio
import errno
from ctypes import byref, c_void_p
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generator

from ._errors import check
from ._lease import Lease
from ._library import _KEEP, _Lease, lib
from ._options import How, Text, bytes_of, shown
from ._wait import Handle

if TYPE_CHECKING:
    from ._table import Table


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


class Ticket:
    """A place in a key's queue, without a thread that waits: for select and its
    like, it has a fileno().  Given up at the end of its with block, or when it
    goes, unless it was finished.  In a task it is awaited, or used so:

        async with table.start("k") as lease:
    """

    def __init__(self, table: Table, key: Text, keep: bool, how: How) -> None:
        opts, out = how.options(), c_void_p()
        opts.flags |= _KEEP if keep else 0
        self._table, self._session, self._name = table, how.session, shown(key)
        self._lease: Lease | None = None
        check(lib.lh_acquire_start(table.p, bytes_of(key, "the key"),
                                   byref(opts), byref(out)))
        self._handle = Handle(out.value, lib.lh_ticket_cancel, table)

    def __repr__(self) -> str:
        return "<leasehold.Ticket %s, %s>" % (
            self._name, "over" if self._handle.closed else
            "rank %d" % self.rank)

    def fileno(self) -> int:
        """Readable when finish() has something to say."""
        return check(lib.lh_ticket_fd(self._handle.p))

    @property
    def rank(self) -> int:
        """Its place in the queue: 1 is the first; 0: there is an answer."""
        return check(lib.lh_ticket_rank(self._handle.p))

    def finish(self) -> Lease | None:
        """The Lease; None: not yet.  Raises TimedOut, Lost, Deadlock.  After a
        Lease or a failure it is over."""
        lease = _Lease()
        result = lib.lh_ticket_finish(self._handle.p, byref(lease))
        if result == -errno.EAGAIN:
            return None
        if result not in (-errno.EINVAL, -errno.EPERM):
            self._handle.gone()
        check(result)
        return Lease(self._table, lease, self._session, self._name)

    def cancel(self) -> None:
        """Give it up; a grant that came first is released."""
        self._handle.close()

    def __enter__(self) -> Ticket:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.cancel()

    async def _granted(self) -> Lease:
        loop = asyncio.get_running_loop()
        try:
            while True:
                lease = self.finish()
                if lease is not None:
                    return lease
                ready, fd = loop.create_future(), self.fileno()
                loop.add_reader(fd, _wake, ready)
                try:
                    await ready
                finally:
                    loop.remove_reader(fd)
        except asyncio.CancelledError:
            self.cancel()
            raise

    def __await__(self) -> Generator[Any, None, Lease]:
        """The Lease, once it is granted.  Raises as finish(); if the task is
        cancelled, the ticket is."""
        return self._granted().__await__()

    async def __aenter__(self) -> Lease:
        self._lease = await self._granted()
        return self._lease

    async def __aexit__(self, kind: type[BaseException] | None,
                        value: BaseException | None,
                        trace: TracebackType | None) -> None:
        if self._lease is not None:
            self._lease.__exit__(kind, value, trace)
