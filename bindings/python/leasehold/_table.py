# SPDX-License-Identifier: MIT
"""Tables, from which everything else comes."""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import byref, c_size_t, c_uint64, c_void_p, sizeof
from types import TracebackType
from typing import Any, Callable, List

from ._constants import EPHEMERAL, EXCLUSIVE, POLICY_LEASE
from ._describe import around
from ._errors import Busy, ask, check
from ._lease import Lease, Leases
from ._library import (_ALL_LOCAL, _CATCH_SIGBUS, _FORCE, _NO_CREATE, _SYSTEM,
                       _FindingFn, _KeyFn, _Lease, _OpenOpts, _SessionFn, lib)
from ._lock import Lock
from ._options import (How, Keys, Text, bytes_of, fence_token, items,
                       request_id, shown)
from ._semaphore import Semaphore
from ._session import Session
from ._ticket import Ticket
from ._wait import Handle, interruptible


class Table:
    """An attachment.  name None: $LEASEHOLD_TABLE, or "default".  all_local:
    every acquire through it is in scope LOCAL; a new table gets a fence
    file."""

    def __init__(self, name: Text | None = None, *, system: bool = False,
                 create: bool = True, application: Text | None = None,
                 all_local: bool = False) -> None:
        # what LH_OPEN_OPTS_INIT says
        opts = _OpenOpts(size=sizeof(_OpenOpts), mode=0o600,
                         max_keys=1048576, max_sessions=1024,
                         max_leases=262144, group=2 ** 32 - 1,
                         flags=(_SYSTEM if system else 0) |
                         (_ALL_LOCAL if all_local else 0) |
                         (0 if create else _NO_CREATE))
        if application is not None:
            opts.application = bytes_of(application, "the application")
        out = c_void_p()
        self._name = shown(name if name is not None else os.environ.get(
            "LEASEHOLD_TABLE", "default"))
        table = None if name is None else bytes_of(name, "the name")
        # a table that is truncated must not end the interpreter; but for
        # programs with a handler of their own (faulthandler): EBUSY
        opts.flags |= _CATCH_SIGBUS
        error = lib.lh_open(byref(out), table, byref(opts))
        if error == -errno.EBUSY:
            opts.flags &= ~_CATCH_SIGBUS
            error = lib.lh_open(byref(out), table, byref(opts))
        check(error)
        self._handle = Handle(out.value, lib.lh_close)

    def __repr__(self) -> str:
        return "<leasehold.Table %s%s>" % (
            self._name, ", closed" if self._handle.closed else "")

    @property
    def p(self) -> int:
        return self._handle.p

    def acquire(self, key: Text, *, ttl: float = 30, wait: float = 3600,
                mode: int = EXCLUSIVE, priority: int = 0,
                scope: int = EPHEMERAL, create: bool = True,
                info: Text | None = None, request: int | None = None,
                holder: Text | None = None, value: bytes | None = None,
                session: Session | None = None, policy: int = POLICY_LEASE,
                shareable: bool = False, deadlock: bool = True,
                robust: bool = False) -> Lease:
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
        how = How(ttl, wait, mode, priority, scope, create, info, request,
                  holder, value, session, policy, shareable, deadlock, robust)
        name, lease, p = bytes_of(key, "the key"), _Lease(), self.p
        interruptible(
            lambda o: lib.lh_acquire(p, name, byref(o), byref(lease)),
            how.options(), lambda: lib.lh_release(p, byref(lease)))
        return Lease(self, lease, session, shown(key))

    def try_acquire(self, key: Text, *, ttl: float = 30, mode: int = EXCLUSIVE,
                    priority: int = 0, scope: int = EPHEMERAL,
                    create: bool = True, info: Text | None = None,
                    request: int | None = None, holder: Text | None = None,
                    value: bytes | None = None, session: Session | None = None,
                    policy: int = POLICY_LEASE, shareable: bool = False,
                    deadlock: bool = True,
                    robust: bool = False) -> Lease | None:
        """A Lease, or None if the key is busy."""
        try:
            return self.acquire(
                key, ttl=ttl, wait=0, mode=mode, priority=priority,
                scope=scope, create=create, info=info, request=request,
                holder=holder, value=value, session=session, policy=policy,
                shareable=shareable, deadlock=deadlock, robust=robust)
        except Busy:
            return None

    def start(self, key: Text, *, keep: bool = False, ttl: float = 30,
              wait: float = 3600, mode: int = EXCLUSIVE, priority: int = 0,
              scope: int = EPHEMERAL,
              create: bool = True, info: Text | None = None,
              request: int | None = None, holder: Text | None = None,
              value: bytes | None = None, session: Session | None = None,
              policy: int = POLICY_LEASE, shareable: bool = False,
              deadlock: bool = True, robust: bool = False) -> Ticket:
        """A Ticket, which waits for the key without a thread; see there.  keep:
        renewed from the grant until it is finished.  The others are those of
        acquire()."""
        return Ticket(self, key, keep, How(ttl, wait, mode, priority, scope,
                                           create, info, request, holder,
                                           value, session, policy, shareable,
                                           deadlock, robust))

    def semaphore(self, name: Text, limit: int = 0) -> Semaphore:
        """A Semaphore of so many permits; 0: those that it was made with."""
        return Semaphore(self, name, limit)

    def destroy_semaphore(self, name: Text) -> None:
        """Forget it.  Raises Error (EBUSY) if it is used."""
        check(lib.lh_sem_destroy(self.p, bytes_of(name, "the name")))

    def wait_free(self, key: Text, wait: float = 3600) -> None:
        """Until nobody holds the key; nothing is acquired.  Raises Busy (wait
        is 0), TimedOut."""
        name, p = bytes_of(key, "the key"), self.p
        interruptible(lambda o: lib.lh_wait_free(p, name, byref(o)),
                       How(wait=wait).options(), lambda: None)

    def acquire_many(self, keys: Keys, *, mode: int = EXCLUSIVE,
                     ttl: float = 30, wait: float = 3600,
                     priority: int = 0, scope: int = EPHEMERAL,
                     create: bool = True, info: Text | None = None,
                     request: int | None = None, holder: Text | None = None,
                     value: bytes | None = None,
                     session: Session | None = None,
                     policy: int = POLICY_LEASE, shareable: bool = False,
                     deadlock: bool = True, robust: bool = False) -> Leases:
        """Leases on all of these keys (names, or pairs of name and mode), in
        their order; or, as with acquire(), none."""
        wanted, p = items(keys, mode), self.p
        how = How(ttl, wait, EXCLUSIVE, priority, scope, create, info,
                  request, holder, value, session, policy, shareable,
                  deadlock, robust)
        leases = (_Lease * len(wanted))()
        interruptible(
            lambda o: lib.lh_acquire_many(p, wanted, len(wanted), byref(o),
                                          leases),
            how.options(),
            lambda: lib.lh_release_many(p, leases, len(wanted)))
        # (an element of an array keeps all of the array)
        return Leases(Lease(self, lease, session, shown(item.key))
                      for lease, item in zip(leases, wanted))

    def recall(self, key: Text, id: tuple[int, int], token: int) -> Lease:
        """The Lease on that key that has this id and token; it stays held when
        the Lease goes, as one in a session.  Raises Lost, NotFound."""
        lease = _Lease()
        check(lib.lh_lease_recall(self.p, bytes_of(key, "the key"),
                                    byref((c_uint64 * 2)(*id)), token,
                                    byref(lease)))
        found = Lease(self, lease, None, shown(key))
        found._stays = True
        return found

    def release_request(self, request: int,
                        session: Session | None = None) -> None:
        """End the lease that this request was granted (in that Session), if
        that was not done.  Raises Lost; Error (ENOENT): no such request is
        known."""
        check(lib.lh_release_request(
            self.p, None if session is None else session.p,
            byref(request_id(request))))

    def lock(self, key: Text, *, renew: float | None = None,
             warn: float = 0, ttl: float = 30, wait: float = 3600,
             mode: int = EXCLUSIVE, priority: int = 0, scope: int = EPHEMERAL,
             create: bool = True, info: Text | None = None,
             request: int | None = None, holder: Text | None = None,
             value: bytes | None = None, session: Session | None = None,
             policy: int = POLICY_LEASE, shareable: bool = False,
             deadlock: bool = True, robust: bool = False) -> Lock:
        """A Lock on that key; see there."""
        return Lock(
            self, key, renew=renew, warn=warn, ttl=ttl, wait=wait,
            mode=mode, priority=priority, scope=scope,
            create=create, info=info, request=request, holder=holder,
            value=value, session=session, policy=policy, shareable=shareable,
            deadlock=deadlock, robust=robust)

    def lock_many(self, keys: Keys, *, mode: int = EXCLUSIVE,
                  renew: float | None = None, warn: float = 0,
                  ttl: float = 30, wait: float = 3600,
                  priority: int = 0, scope: int = EPHEMERAL,
                  create: bool = True, info: Text | None = None,
                  request: int | None = None, holder: Text | None = None,
                  value: bytes | None = None, session: Session | None = None,
                  policy: int = POLICY_LEASE, shareable: bool = False,
                  deadlock: bool = True, robust: bool = False) -> Lock:
        """A Lock on all of these keys (names, or pairs of name and mode):
        acquired, renewed, lost and released together."""
        return Lock(
            self, items(keys, mode), renew=renew, warn=warn,
            ttl=ttl, wait=wait, priority=priority, scope=scope, create=create,
            info=info, request=request, holder=holder, value=value,
            session=session, policy=policy, shareable=shareable,
            deadlock=deadlock, robust=robust)

    def session(self, name: Text | None = None, *, ttl: float = 15,
                lock_delay: float = 0, delete: bool = False,
                with_maker: bool = False, create: bool = True,
                pid: int = 0) -> Session:
        """A Session; see there."""
        return Session(self, name, ttl=ttl, lock_delay=lock_delay,
                       delete=delete, with_maker=with_maker, create=create,
                       pid=pid)

    def sessions(self, prefix: Text = "") -> List[dict[str, Any]]:
        """The named sessions that live (and whose names begin so): a list of
        dicts with name, id, ttl, lock_delay, left (seconds), leases, pid."""
        p = self.p
        found: List[dict[str, Any]] = []

        def add(pointer: Any, _: object) -> int:
            i, now = pointer.contents, lib.lh_clock_ns(p)
            found.append({
                "name": i.name.decode("utf-8", "surrogateescape"),
                "id": i.id, "ttl": i.ttl_ms / 1000,
                "lock_delay": i.lock_delay_ms / 1000,
                "left": (i.expires_ns - now) / 1e9, "leases": i.leases,
                "pid": i.pid})
            return 0

        check(lib.lh_session_list(p, bytes_of(prefix, "the prefix"),
                                  _SessionFn(add), None))
        return found

    def _look(self, call: Callable[[int, Any], Any]) -> List[dict[str, Any]]:
        """The keys that call passes to its function."""
        p = self.p
        found: List[dict[str, Any]] = []

        def add(pointer: Any, _: object) -> int:
            found.append(around(pointer.contents, lib.lh_clock_ns(p)))
            return 0

        return found if ask(call(p, _KeyFn(add)), errno.ENOENT) else []

    def list(self, prefix: Text = "") -> List[dict[str, Any]]:
        """Every key whose name begins so, and those around it: dicts as
        explain() gives, but for what they do."""
        return self._look(lambda p, fn: lib.lh_list(
            p, bytes_of(prefix, "the prefix"), fn, None))

    def status(self, key: Text) -> dict[str, Any] | None:
        """The same of one key; None: no such key."""
        found = self._look(lambda p, fn: lib.lh_status(
            p, bytes_of(key, "the key"), None, fn, None))
        return found[0] if found else None

    def explain(self, key: Text) -> dict[str, Any] | None:
        """The holders and waiters of a key; None: no such key.  A dict with
        key (bytes), token, rank (of a wait of this attachment; 0: none),
        moved, delayed (seconds for which it is kept back), holders and
        waiters.  The last two are lists of dicts with id, pid, application,
        info, mode, run and since (seconds ago).  run is running, sleeping,
        blocked, stopped, dead, or None: it cannot be seen.  Holders also have
        token, left (seconds) and waits_for (the key, as bytes, that the
        thread waits for).  Waiters also have rank and priority."""
        found = self._look(lambda p, fn: lib.lh_explain(
            p, bytes_of(key, "the key"), fn, None))
        return found[0] if found else None

    def check(self) -> List[str]:
        """What is wrong with the table: sentences; none, if it is sound.
        Error with EIO: it is sound, but its fence directory cannot be used."""
        found: List[str] = []
        finding = _FindingFn(lambda text, _: found.append(
            text.decode("utf-8", "replace")))
        check(lib.lh_check(self.p, finding, None))
        return found

    def create(self, key: Text) -> None:
        """Make a key that stays."""
        check(lib.lh_key_create(self.p, bytes_of(key, "the key")))

    def destroy(self, key: Text) -> None:
        """Forget a key.  Raises Error (EBUSY: in use; EALREADY: by us)."""
        check(lib.lh_destroy(self.p, bytes_of(key, "the key")))

    def verify(self, key: Text, token: int) -> bool:
        """Is that the token of a present lease of the key?"""
        return ask(lib.lh_verify_token(self.p, bytes_of(key, "the key"),
                                         fence_token(token)), errno.ESTALE)

    def value(self, key: Text) -> tuple[bytes, int] | None:
        """The key's value and the token under which it was set, or None."""
        buf, size, token = ctypes.create_string_buffer(256), c_size_t(), \
            c_uint64()
        found = ask(lib.lh_value_get(self.p, bytes_of(key, "the key"), buf,
                                       byref(size), byref(token)),
                     errno.ENOENT)
        return (buf.raw[:size.value], token.value) if found and size.value \
            else None

    def ask_release(self, key: Text) -> int:
        """Ask whoever holds the key to release it.  How many they are."""
        return check(lib.lh_ask_release(self.p, bytes_of(key, "the key"),
                                          None, 0))

    def break_(self, key: Text) -> int:
        """End all leases on the key, whoever has them.  How many they were."""
        return check(lib.lh_break(self.p, bytes_of(key, "the key"), None, 0))

    def close(self) -> None:
        """Detach; what is held is released."""
        self._handle.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Table:
        return self

    async def __aexit__(self, kind: type[BaseException] | None,
                        value: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.close()


def remove_table(name: Text | None = None, *, system: bool = False,
                 force: bool = False) -> None:
    """Remove a table; force: also while it is in use."""
    check(lib.lh_table_remove(
        None if name is None else bytes_of(name, "the name"),
        (_SYSTEM if system else 0) | (_FORCE if force else 0)))
