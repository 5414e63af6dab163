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

    async with table.start("catalogue") as lease:   # a task waits
        await publish(lease.token)
    async with table.lock("catalogue") as lock:
        await do_a_little()

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
there is the command.

In tasks of asyncio: `await table.start(key)`, `async with table.start(key)` and
`await semaphore.acquire_async()` give a Lease, `async with` a Lock acquires it.
If the task is cancelled, its wait ends.  Other calls do not wait for locks.
"""

from __future__ import annotations

from ._constants import (ACQUIRED, ASKED, CLOSED, EPHEMERAL, EXCLUSIVE, FAILED,
                         FOREVER, FREE, HELD, LOCAL, LOSS, LOSSES, LOST,
                         NOTE_INCONSISTENT, NOTE_PREVIOUS_BROKEN,
                         NOTE_PREVIOUS_DIED, NOTE_PREVIOUS_EXPIRED,
                         POLICY_LEASE, POLICY_LIVE, POLICY_STRICT, QUORUM,
                         RELEASED, RENEWED, SHARED, WARNING)
from ._errors import (Busy, Cancelled, Deadlock, Error, Lost, NotFound,
                      NotOwner, TimedOut)
from ._gate import Gate
from ._lease import Lease, Leases
from ._library import Event, lib as _lib
from ._lock import Lock, Watch
from ._semaphore import Semaphore
from ._session import Session
from ._table import Table, remove_table
from ._ticket import Ticket

__all__ = ["Table", "Lease", "Leases", "Session", "Lock", "Watch", "Ticket",
           "Semaphore", "Event", "Gate", "Error", "Busy",
           "TimedOut", "Deadlock", "Cancelled", "Lost", "NotOwner", "NotFound",
           "EXCLUSIVE", "SHARED", "FOREVER", "EPHEMERAL", "LOCAL", "QUORUM",
           "POLICY_LEASE", "POLICY_STRICT", "POLICY_LIVE", "remove_table",
           "NOTE_PREVIOUS_DIED", "NOTE_PREVIOUS_EXPIRED",
           "NOTE_PREVIOUS_BROKEN", "NOTE_INCONSISTENT", "FREE", "HELD", "LOST",
           "LOSSES", "ACQUIRED", "RENEWED", "FAILED", "WARNING", "LOSS",
           "RELEASED", "CLOSED", "ASKED", "library_version"]


def library_version() -> str:
    """The version of the library that is called, as "0.2.0"."""
    version: bytes = _lib.lh_version(None)
    return version.decode()


# in tracebacks and reprs these are leasehold.Table and so on
for _public in (Table, Lease, Leases, Session, Lock, Watch, Ticket, Semaphore,
                Event, Gate, Error, Busy, TimedOut, Deadlock, Cancelled, Lost,
                NotOwner, NotFound):
    _public.__module__ = __name__
del _public
