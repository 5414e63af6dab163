#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package leasehold: its promises, and its structures, which are the library's."""

import ctypes
import errno
import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bindings/python"))
sys.dont_write_bytecode = True
os.environ.setdefault("LEASEHOLD_LIBRARY", os.path.join(
    HERE, "../../build/release/libleasehold.so"))

import leasehold
import tap
from leasehold import _library

NAME = "test-python.%d" % os.getpid()


class AllLocal(unittest.TestCase):
    def test_scope_without_asking(self):
        name = NAME + ".local"
        self.addCleanup(os.unlink, "/dev/shm/leasehold.%d/%s.floor" % (
            os.geteuid(), name))
        self.addCleanup(leasehold.remove_table, name)
        with tempfile.TemporaryDirectory() as state:
            with unittest.mock.patch.dict(os.environ, XDG_STATE_HOME=state):
                table = leasehold.Table(name, all_local=True)
            table.acquire("k").release()
            table.close()
        # its fence file is gone: only scope local minds
        table = leasehold.Table(name)
        table.acquire("new").release()
        table.close()
        table = leasehold.Table(name, all_local=True)
        with self.assertRaises(leasehold.Error) as refused:
            table.acquire("new")
        self.assertEqual(refused.exception.errno, errno.EIO)
        table.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.table = leasehold.Table(NAME)
        self.other = leasehold.Table(NAME)
        self.addCleanup(self.other.close)
        self.addCleanup(self.table.close)


class Leases(Case):
    def test_with_block_holds_and_releases(self):
        with self.table.acquire("k", ttl=60) as lease:
            self.assertTrue(lease.verify())
            info = lease.info()
            self.assertEqual(info["key"], "k")
            self.assertLess(0, info["left"])
            self.assertLess(info["left"], 60.1)
            self.assertLess(info["since"], 10)
            self.assertIsNone(self.other.try_acquire("k"))
            self.assertTrue(self.other.verify("k", lease.token))
            self.assertFalse(self.other.verify("k", lease.token + 1))
        later = self.other.try_acquire("k")
        self.assertGreater(later.token, lease.token)
        later.release()
        with self.assertRaises(leasehold.Lost):
            later.info()
        later.release()

    def test_request_is_repeated(self):
        number = (7 << 64) + 5
        lease = self.table.acquire("k", request=number, info="a test")
        again = self.table.acquire("k", request=number)
        self.assertEqual(lease.token, again.token)
        self.table.release_request(number)
        again.release()
        lease.release()
        self.assertIsNotNone(self.other.try_acquire("k"))
        with self.assertRaises(ValueError):
            self.table.acquire("k", request=0)
        with self.assertRaises(leasehold.Error):
            self.table.release_request(4711)

    def test_holder_enters_again(self):
        with self.table.acquire("k", holder="me") as lease:
            with self.table.acquire("k", holder="me") as inner:
                self.assertEqual(inner.token, lease.token)
            self.assertIsNone(self.other.try_acquire("k"))
        self.assertIsNotNone(self.other.try_acquire("k"))

    def test_explained_who_is_around(self):
        self.assertIsNone(self.table.explain("never heard of"))
        with self.table.acquire("k", ttl=60) as lease:
            waiter = threading.Thread(target=lambda: self.other.acquire(
                "k", wait=20, priority=3).release())
            waiter.start()
            while not self.table.explain("k")["waiters"]:
                time.sleep(0.01)
            told = self.other.explain("k")
            holder, = told["holders"]
            self.assertEqual((holder["pid"], holder["token"], told["rank"]),
                             (os.getpid(), lease.token, 1))
            self.assertLess(50, holder["left"])
            self.assertIsNone(holder["waits_for"])
            self.assertIn(holder["run"], ("running", "sleeping"))
            self.assertEqual(told["waiters"][0]["priority"], 3)
        waiter.join()
        self.assertEqual(self.table.explain("k")["holders"], [])

    def test_forgotten_lease_is_released(self):
        lease = self.table.acquire("k")
        del lease
        gc.collect()
        self.assertIsNotNone(self.other.try_acquire("k"))

    def test_bytes_and_text_are_keys(self):
        with self.table.acquire(b"\xff\xfe"), self.table.acquire("caf\u00e9"):
            self.assertIsNone(self.other.try_acquire("caf\u00e9".encode()))

    def test_values(self):
        self.assertIsNone(self.other.value("v"))
        with self.table.acquire("v") as lease:
            lease.set_value(b"a\0b")
            self.assertEqual(self.other.value("v"), (b"a\0b", lease.token))
            with self.assertRaises(leasehold.Error):
                lease.set_value(bytes(257))
            lease.set_value(b"")
        self.assertIsNone(self.other.value("v"))

    def test_readers_together_and_conversion(self):
        with self.table.acquire("k", mode=leasehold.SHARED) as reader:
            with self.other.acquire("k", mode=leasehold.SHARED):
                with self.assertRaises(leasehold.Busy):
                    reader.convert(leasehold.EXCLUSIVE)
            reader.convert(leasehold.EXCLUSIVE)
            self.assertEqual(reader.mode, leasehold.EXCLUSIVE)

    def test_conversion_waits_for_other_readers(self):
        told = []

        def deadlock():
            with self.table.acquire("k", mode=leasehold.SHARED) as mine:
                with self.other.acquire("k", mode=leasehold.SHARED):
                    try:
                        mine.convert(leasehold.EXCLUSIVE, wait=20)
                    except leasehold.Deadlock as e:
                        told.append(str(e))
                mine.convert(leasehold.EXCLUSIVE, wait=20)
                told.append(mine.mode)

        thread = threading.Thread(target=deadlock)
        thread.start()
        thread.join()
        self.assertIn("this thread waits for 'k', held by this thread",
                      told[0])
        self.assertEqual(told[1], leasehold.EXCLUSIVE)
        with self.table.acquire("k", mode=leasehold.SHARED) as reader:
            with self.other.acquire("k", mode=leasehold.SHARED):
                with self.assertRaises(leasehold.TimedOut):
                    reader.convert(leasehold.EXCLUSIVE, wait=0.05)

    def test_many_keys_or_none(self):
        keys = ["m2", ("m1", leasehold.SHARED), b"m3"]
        with self.table.acquire_many(keys, ttl=60) as leases:
            self.assertEqual([l.mode for l in leases], [0, 1, 0])
            self.assertTrue(leases.verify())
            self.assertTrue(self.other.verify("m2", leases[0].token))
            with self.assertRaises(leasehold.Busy):
                self.other.acquire_many(["m0", "m3"], wait=0)
            with self.other.acquire("m0", wait=0):
                pass
        with self.other.acquire_many(["m1", "m2", "m3"], wait=0):
            pass
        with self.assertRaises(leasehold.Error) as caught:
            self.table.acquire_many(["m1", "m1"])
        self.assertEqual(caught.exception.errno, errno.EINVAL)
        with self.assertRaises(leasehold.Lost):
            with self.table.acquire_many(["m1", "m2"]) as leases:
                self.assertEqual(self.other.break_("m1"), 1)
                self.assertFalse(leases.verify())
        self.assertIsNotNone(self.other.try_acquire("m2"))

    def test_lost_lease(self):
        lease = self.table.acquire("k", ttl=0.02)
        time.sleep(0.08)
        self.assertFalse(lease.verify())
        with self.assertRaises(leasehold.Lost) as caught:
            lease.extend(10)
        self.assertEqual(caught.exception.errno, errno.ESTALE)
        self.assertIn("ran out", str(caught.exception))
        with self.assertRaises(leasehold.Lost):
            with self.table.acquire("j") as lease:
                self.assertEqual(self.other.break_("j"), 1)
        with self.assertRaises(KeyError):       # not hidden by the loss
            with self.table.acquire("j") as lease:
                self.other.break_("j")
                raise KeyError

    def test_extend_counts_from_now(self):
        with self.table.acquire("k", ttl=9) as lease:
            before = lease.expires_ns
            lease.extend(60)
            self.assertGreater(lease.expires_ns, before + 50 * 10**9)


class Failures(Case):
    def test_errors_by_errno(self):
        with self.other.acquire("k"):
            with self.assertRaises(leasehold.Busy) as caught:
                self.table.acquire("k", wait=0)
            self.assertIn("held", str(caught.exception))
            began = time.monotonic()
            with self.assertRaises(TimeoutError):
                self.table.acquire("k", wait=0.05)
            self.assertGreaterEqual(time.monotonic() - began, 0.05)
        with self.assertRaises(FileNotFoundError):
            self.table.acquire("unknown", create=False)
        with self.assertRaises(FileNotFoundError):
            leasehold.Table(NAME + "x", create=False)
        for bad in ({"ttl": 0}, {"mode": 7}, {"scope": 9}):
            with self.assertRaises(leasehold.Error) as caught:
                self.table.acquire("k", **bad)
            self.assertIn(caught.exception.errno,
                          (errno.EINVAL, errno.EOPNOTSUPP))
        with self.assertRaises(leasehold.Error):
            self.table.acquire("")
        with self.assertRaises(ValueError):
            self.table.acquire("a\0b")
        with self.assertRaises(leasehold.Error):
            self.table.acquire("k" * 300)
        for priority in (-1, 2**32, 2**32 + 1):
            with self.assertRaises(ValueError):
                self.table.acquire("k", priority=priority)
        self.table.acquire("k", priority=2**32 - 1).release()

    def test_a_number_that_does_not_fit_is_an_error(self):
        lease = self.table.acquire("k")
        for wrong in ({"mode": 2**32}, {"mode": -1}, {"scope": 2**32 + 1},
                      {"policy": 2**32}, {"priority": 2**64}):
            with self.assertRaises(ValueError, msg=wrong):
                self.table.acquire("other", **wrong)
        with self.assertRaises(ctypes.ArgumentError):
            lease.convert(2**32 + leasehold.SHARED)
        with self.assertRaises(ctypes.ArgumentError):
            self.table.semaphore("s", 2**32 + 1)
        self.assertEqual(self.table.status("other"), None)
        self.assertTrue(lease.verify())

    def test_a_value_is_bytes_and_keys_are_a_list(self):
        for wrong in (5, [1, 2], "text"):
            with self.assertRaises(TypeError, msg=wrong):
                self.table.acquire("k", value=wrong)
        with self.table.acquire("k", value=bytearray(b"v")) as lease:
            with self.assertRaises(TypeError):
                lease.set_value(5)
            self.assertEqual(self.table.value("k")[0], b"v")
        for wrong in ("ab", b"ab"):
            with self.assertRaises(TypeError):
                self.table.acquire_many(wrong)
        self.assertEqual(self.table.status("a"), None)

    def test_closed_table(self):
        lease = self.table.acquire("k")
        self.table.close()
        self.table.close()
        self.assertIsNotNone(self.other.try_acquire("k"))
        with self.assertRaises(ValueError):
            self.table.acquire("k")
        with self.assertRaises(ValueError):
            lease.verify()

    def test_interrupted_wait(self):
        class Stop(Exception):
            pass

        def stop(number, frame):
            raise Stop

        old = signal.signal(signal.SIGALRM, stop)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        with self.other.acquire("k"):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            began = time.monotonic()
            with self.assertRaises(Stop):
                self.table.acquire("k", wait=leasehold.FOREVER)
            self.assertLess(time.monotonic() - began, 5)
        with self.table.acquire("k"):
            pass

    def test_wait_in_threads(self):
        got = []

        def wait():
            with self.table.acquire("k", wait=30):
                got.append(1)

        with self.other.acquire("k"):
            threads = [threading.Thread(target=wait) for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.05)
            self.assertEqual(got, [])
        for thread in threads:
            thread.join(30)
        self.assertEqual(got, [1] * 4)

    def test_forked_child_is_refused(self):
        lock = self.table.lock("live")
        with self.table.acquire("k") as lease, lock:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    lease.verify()
                except PermissionError:
                    try:
                        lock.valid
                    except PermissionError:
                        code = 0
                os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertTrue(lease.verify() and lock.valid)


class Live(Case):
    def test_renews_and_releases(self):
        with self.table.lock("k", ttl=60, renew=0.02) as lock:
            end = time.monotonic() + 20     # a third of the ttl
            while lock.renewals <= 3 and time.monotonic() < end:
                time.sleep(0.02)
            self.assertTrue(lock.valid)
            self.assertGreater(lock.renewals, 3)
            self.assertTrue(self.other.verify("k", lock.token))
            with self.assertRaises(leasehold.Error) as caught:
                lock.acquire()
            self.assertEqual(caught.exception.errno, errno.EALREADY)
            self.assertFalse(self.other.lock("k").try_acquire())
        self.assertFalse(lock.valid)
        self.assertIsNotNone(self.other.try_acquire("k"))

    def test_loss_is_told(self):
        lock = self.table.lock("k", ttl=60, renew=0.02)
        watch = lock.watch(leasehold.LOSS)
        with self.assertRaises(leasehold.Lost):
            with lock:
                self.assertEqual(list(watch), [])
                self.other.break_("k")
                self.assertTrue(select.select([watch], [], [], 20)[0])
                event, = watch
                self.assertEqual(event.what, leasehold.LOSS)
                self.assertFalse(lock.valid)
                self.assertEqual(lock.loss, "broken")
        with lock:
            self.assertIsNone(lock.loss)
        watch.close()

    def test_early_warning(self):
        lock = self.table.lock("k", ttl=4, renew=0, warn=3.95)
        watch = lock.watch()
        lock.acquire()
        while lock.loss is None:
            time.sleep(0.05)
        self.assertEqual([e.what for e in watch],
                         [leasehold.ACQUIRED, leasehold.WARNING,
                          leasehold.LOSS])
        self.assertEqual(lock.loss, "expired")

    def test_forgotten_lock_is_released(self):
        lock = self.table.lock("k").acquire()
        del lock
        gc.collect()
        self.assertIsNotNone(self.other.try_acquire("k"))


class Sessions(Case):
    def test_lease_stays_in_its_session(self):
        session = self.table.session("py", ttl=20)
        self.assertEqual(session.renew(), 20)
        session.keep()
        lease = session.acquire("k")
        self.assertEqual((session.name, session.leases), ("py", 1))
        del lease
        session.close()
        gc.collect()
        self.assertIsNone(self.other.try_acquire("k"))
        again = self.other.session("py", create=False)
        again.destroy()
        with self.assertRaises(leasehold.Lost):
            again.renew()
        self.other.try_acquire("k").release()

    def test_lease_comes_back(self):
        session = self.table.session(with_maker=True)
        with self.table.acquire("k") as lease:
            lease.hand_over(session)
            lease.hand_over(None)
            session.destroy()
            self.assertTrue(lease.verify())
        self.other.try_acquire("k").release()


class Tickets(Case):
    def test_granted_in_turn(self):
        held = self.other.acquire("k")
        first, second = self.table.start("k"), self.table.start("k")
        self.assertEqual((first.rank, second.rank), (1, 2))
        self.assertIsNone(first.finish())
        self.assertEqual(select.select([first, second], [], [], 0)[0], [])
        held.release()
        ready = select.select([first, second], [], [], 20)[0]
        self.assertEqual(ready, [first])
        with first.finish() as lease:
            self.assertTrue(lease.verify())
            self.assertGreater(lease.token, held.token)
            with self.assertRaises(ValueError):
                first.finish()
            self.assertEqual(second.rank, 1)
            second.cancel()
            second.cancel()
        self.assertIsNotNone(self.other.try_acquire("k"))

    def test_given_up_when_it_goes(self):
        with self.other.acquire("k"):
            with self.table.start("k"):
                self.assertEqual(len(self.table.status("k")["waiters"]), 1)
            ticket = self.table.start("k")
            del ticket
            gc.collect()
            self.assertEqual(self.table.status("k")["waiters"], [])

    def test_fails_with_the_reason(self):
        with self.other.acquire("k"):
            ticket = self.table.start("k", wait=0.05)
            self.assertTrue(select.select([ticket], [], [], 20)[0])
            with self.assertRaises(leasehold.TimedOut):
                ticket.finish()
            ticket.cancel()
            with self.assertRaises(leasehold.Error):
                self.table.start("k", wait=0)
            with self.assertRaises(leasehold.NotFound):
                self.table.start("never heard of", create=False)

    def test_kept_until_it_is_finished(self):
        ticket = self.table.start("k", ttl=4, keep=True)
        time.sleep(6)
        ticket.finish().release()

    def test_into_a_session_by_a_request(self):
        session = self.table.session("pyt", ttl=60)
        held = self.other.acquire("k")
        ticket = self.table.start("k", session=session, request=99,
                                  value=b"v", info="a ticket")
        self.assertEqual(self.table.status("k")["waiters"][0]["info"],
                         "a ticket")
        held.release()
        self.assertTrue(select.select([ticket], [], [], 20)[0])
        lease = ticket.finish()
        self.assertEqual(lease.id[0], self.table.sessions("pyt")[0]["id"])
        self.assertEqual(self.table.value("k"), (b"v", lease.token))
        again = self.table.start("k", session=session, request=99).finish()
        self.assertEqual(again.id, lease.id)
        del lease, again
        gc.collect()                        # what is in a session stays
        self.assertIsNone(self.other.try_acquire("k"))
        self.table.release_request(99, session)
        session.destroy()
        self.other.try_acquire("k").release()


class Semaphores(Case):
    def test_counts(self):
        two = self.table.semaphore("s", 2)
        with two.acquire() as a, two.acquire() as b:
            self.assertEqual((two.limit, two.held, two.waiting), (2, 2, 0))
            self.assertTrue(a.verify() and b.verify())
            self.assertIsNone(two.try_acquire())
            with self.assertRaises(leasehold.TimedOut):
                two.acquire(wait=0.05)
            with self.assertRaises(leasehold.Error) as caught:
                self.other.destroy_semaphore("s")
            self.assertEqual(caught.exception.errno, errno.EBUSY)
        with self.assertRaises(leasehold.Error):
            self.other.semaphore("s", 3)
        self.assertEqual(self.other.semaphore("s").limit, 2)
        two.close()
        self.table.destroy_semaphore("s")
        with self.assertRaises(leasehold.NotFound):
            self.table.semaphore("s")

    def test_wait_for_one(self):
        one = self.table.semaphore("one", 1)
        permit = one.acquire()
        timer = threading.Timer(0.1, permit.release)
        timer.start()
        self.addCleanup(timer.join)     # no table is closed under a call
        with one.acquire(wait=20) as mine:
            self.assertGreater(mine.token, permit.token)

    def test_into_a_session_and_by_a_holder(self):
        two = self.table.semaphore("two", 2)
        session = self.table.session("pys", ttl=60)
        lease = two.acquire(session=session, request=5)
        self.assertEqual(two.acquire(session=session, request=5).token,
                         lease.token)
        with two.acquire(holder="me") as a, two.acquire(holder="me") as b:
            self.assertEqual(a.token, b.token)
            self.assertIsNone(two.try_acquire())
        self.assertEqual(two.held, 1)
        session.destroy()
        self.assertEqual(two.held, 0)


class Around(Case):
    def test_lists_and_status(self):
        with self.table.acquire("a/1"), self.table.acquire("a/2") as lease:
            with self.table.acquire("b"):
                self.assertEqual(sorted(k["key"] for k in
                                        self.other.list("a/")),
                                 [b"a/1", b"a/2"])
            status = self.other.status("a/2")
            self.assertEqual((status["holders"][0]["id"], status["token"]),
                             (lease.id, lease.token))
        self.assertIsNone(self.table.status("never heard of"))
        self.assertEqual(self.table.check(), [])

    def test_keys_are_made_and_forgotten(self):
        self.table.create("new")
        with self.table.acquire("new", create=False):
            with self.assertRaises(leasehold.Error) as caught:
                self.other.destroy("new")
            self.assertEqual(caught.exception.errno, errno.EBUSY)
        self.other.destroy("new")
        self.assertIsNone(self.table.status("new"))

    def test_wait_until_it_is_free(self):
        self.table.wait_free("k", wait=0)
        lease = self.other.acquire("k")
        with self.assertRaises(leasehold.Busy):
            self.table.wait_free("k", wait=0)
        with self.assertRaises(leasehold.TimedOut):
            self.table.wait_free("k", wait=0.05)
        timer = threading.Timer(0.1, lease.release)
        timer.start()
        self.addCleanup(timer.join)
        self.table.wait_free("k", wait=20)

    def test_asked_to_release(self):
        self.assertEqual(self.table.ask_release("k"), 0)
        with self.table.acquire("k") as lease:
            self.assertFalse(lease.asked)
            self.assertEqual(self.other.ask_release("k"), 1)
            self.assertTrue(lease.asked)
            self.assertFalse(lease.asked)
        lock = self.table.lock("k")
        watch = lock.watch(leasehold.ASKED)
        with lock:
            self.other.ask_release("k")
            self.assertTrue(select.select([watch], [], [], 20)[0])
            self.assertEqual([e.what for e in watch], [leasehold.ASKED])

    def test_lease_is_recalled(self):
        lease = self.table.acquire("k")
        same = self.table.recall("k", lease.id, lease.token)
        self.assertTrue(same.verify())
        del same
        gc.collect()
        self.assertTrue(lease.verify())
        self.table.recall("k", lease.id, lease.token).release()
        self.assertFalse(lease.verify())
        with self.assertRaises(leasehold.Lost):
            self.table.recall("k", lease.id, lease.token)

    def test_released_with_a_value(self):
        lease = self.table.acquire("rv", value=b"first")
        self.assertEqual(self.other.value("rv"), (b"first", lease.token))
        lease.release_value(b"last")
        self.assertEqual(self.other.value("rv"), (b"last", lease.token))
        with self.table.acquire("rv") as lease:
            lease.set_value(b"")

    def test_policies(self):
        with self.table.acquire("k", ttl=0.02,
                                policy=leasehold.POLICY_STRICT) as lease:
            time.sleep(0.05)
            self.assertTrue(lease.verify())
            holder, = self.other.status("k")["holders"]
            self.assertEqual(holder["left"], leasehold.FOREVER)

    def test_a_lock_adopts_a_lease(self):
        lease = self.table.acquire("k", ttl=4)
        with lease.live(ttl=4) as lock:
            del lease
            gc.collect()
            time.sleep(6)
            self.assertTrue(lock.valid)
        self.other.try_acquire("k").release()
        permit = self.table.semaphore("live", 1).acquire()
        permit.live().release()
        self.assertIsNotNone(self.table.semaphore("live").try_acquire())

    def test_a_lock_over_many_keys(self):
        with self.table.lock_many(["x1", ("x2", leasehold.SHARED)]) as lock:
            self.assertEqual(len(lock.tokens()), 2)
            self.assertTrue(self.other.verify("x2", lock.tokens()[1]))
            self.other.acquire("x2", mode=leasehold.SHARED).release()
            self.assertIsNone(self.other.try_acquire("x1"))
        self.other.try_acquire("x1").release()


class Gates(Case):
    def test_refuses_older(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "gate")
            gate = leasehold.Gate(path, durable=True)
            self.assertTrue(gate.check(5))
            self.assertFalse(gate.check(4))
            self.assertTrue(gate.check(9, leasehold.SHARED))
            self.assertEqual(gate.marks(), (5, 9))
            for bad in 0, -1, 2**63, 2**64 + 9:
                with self.assertRaises(ValueError):
                    gate.check(bad)
            gate.close()
            self.assertFalse(leasehold.Gate(path).check(8))
            with self.assertRaises(FileNotFoundError):
                leasehold.Gate(directory, "other", create=False)


class Layout(unittest.TestCase):
    def test_structures_are_those_of_the_header(self):
        pairs = {"lh_lease": _library._Lease, "lh_cancel": _library._Cancel,
                 "lh_open_opts": _library._OpenOpts,
                 "lh_acquire_opts": _library._AcquireOpts,
                 "lh_acquire_more": _library._AcquireMore,
                 "lh_item": _library._Item,
                 "lh_party": _library._Party,
                 "lh_key_info": _library._KeyInfo,
                 "lh_lock_opts": _library._LockOpts,
                 "lh_lock_state": _library._LockState,
                 "lh_session_opts": _library._SessionOpts,
                 "lh_session_info": _library._SessionInfo,
                 "lh_sem_status": _library._SemStatus,
                 "lh_event": leasehold.Event}
        c = ["#include <stddef.h>", "#include <leasehold.h>"]
        for name, cls in pairs.items():
            c.append('_Static_assert(sizeof(struct %s) == %d, "%s");' %
                     (name, ctypes.sizeof(cls), name))
            for field, kind in cls._fields_:
                c.append('_Static_assert(offsetof(struct %s, %s) == %d && '
                         'sizeof(((struct %s *)0)->%s) == %d, "%s.%s");' %
                         (name, field, getattr(cls, field).offset, name, field,
                          ctypes.sizeof(kind), name, field))
        include = os.path.join(HERE, "../../include")
        made = subprocess.run(["gcc", "-std=c11", "-I", include, "-xc",
                               "-fsyntax-only", "-"], input="\n".join(c),
                              text=True, capture_output=True)
        self.assertEqual(made.stderr, "")


if __name__ == "__main__":
    del Case                            # it is no case of its own
    tap.run(sys.modules["__main__"], NAME)
