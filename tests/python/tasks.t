#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Issue 24 D5: what a reader of Python expects: locks of tasks of asyncio, which
block no other task and end with theirs; objects that say what they are; and
arguments that help() names."""

import asyncio
import inspect
import logging
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bindings/python"))
sys.dont_write_bytecode = True
os.environ.setdefault("LEASEHOLD_LIBRARY", os.path.join(
    HERE, "../../build/release/libleasehold.so"))

import leasehold
import tap

# of slow steps, on a busy machine
logging.getLogger("asyncio").setLevel(logging.ERROR)
NAME = "test-python-tasks.%d" % os.getpid()


async def waiters(table, key, number):
    """Returns when so many wait for the key."""
    for _ in range(4000):
        status = table.status(key)
        if status is not None and len(status["waiters"]) == number:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("not %d waiters of %s" % (number, key))


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.table = leasehold.Table(NAME)
        self.other = leasehold.Table(NAME)
        self.addCleanup(self.other.close)
        self.addCleanup(self.table.close)


class Tasks(Case):
    async def test_ticket_is_awaited(self):
        held = self.other.acquire("k")
        steps = []

        async def waits():
            async with self.table.start("k", ttl=60) as lease:
                steps.append("granted")
                self.assertGreater(lease.token, held.token)
                self.assertTrue(lease.verify())

        task = asyncio.create_task(waits())
        await waiters(self.table, "k", 1)       # and this task goes on
        steps.append("released")
        held.release()
        await task
        self.assertEqual(steps, ["released", "granted"])
        with await self.table.start("k") as lease:
            self.assertTrue(lease.verify())
        self.other.try_acquire("k").release()

    async def test_cancelled_task_waits_no_more(self):
        with self.other.acquire("k"):
            task = asyncio.create_task(self.table.start("k")._granted())
            await waiters(self.table, "k", 1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await waiters(self.table, "k", 0)
        self.other.try_acquire("k").release()

    async def test_failure_is_raised(self):
        with self.other.acquire("k"):
            with self.assertRaises(leasehold.TimedOut):
                await self.table.start("k", wait=0.05)

    async def test_loss_is_raised(self):
        with self.assertRaises(leasehold.Lost):
            async with self.table.start("k", ttl=60):
                self.other.break_("k")
        with self.assertRaises(KeyError):
            async with self.table.start("k", ttl=60):
                self.other.break_("k")
                raise KeyError("the task's own error goes first")

    async def test_live_lock(self):
        held = self.other.acquire("k")
        lock = self.table.lock("k", ttl=60)

        async def waits():
            async with lock as same:
                self.assertIs(same, lock)
                self.assertTrue(lock.valid)
                return lock.token

        task = asyncio.create_task(waits())
        await waiters(self.table, "k", 1)
        held.release()
        self.assertGreater(await task, held.token)
        self.assertFalse(lock.valid)
        self.other.try_acquire("k").release()

    async def test_cancelled_lock_holds_nothing(self):
        lock = self.table.lock("k")
        with self.other.acquire("k"):
            task = asyncio.create_task(lock.__aenter__())
            await waiters(self.table, "k", 1)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await waiters(self.table, "k", 0)
        self.assertFalse(lock.valid)
        self.other.try_acquire("k").release()

    async def test_waits_delay_no_other_task(self):
        locks = [self.table.lock("k", wait=3600) for _ in range(40)]
        held = self.other.acquire("k")
        tasks = [asyncio.create_task(lock.__aenter__()) for lock in locks]
        await waiters(self.table, "k", 40)
        # in time: with a pool these would begin when the waits above end
        async with self.table.lock("free", wait=0) as lock:
            self.assertTrue(lock.valid)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with self.assertRaises(asyncio.CancelledError):
                await task
        await waiters(self.table, "k", 0)
        held.release()

    async def test_holder_in_another_task_is_no_deadlock(self):
        async def works():
            async with self.table.lock("k", wait=60):
                await asyncio.sleep(0.3)

        tasks = [asyncio.create_task(works()) for _ in range(3)]
        await asyncio.gather(*tasks)

    async def test_cancelled_again_holds_nothing(self):
        for n in range(20):
            lock, held = self.table.lock("k"), self.other.acquire("k")
            task = asyncio.create_task(lock.__aenter__())
            await waiters(self.table, "k", 1)
            held.release()              # it is granted just now, or soon
            await asyncio.sleep(n / 5000)
            while not task.done():
                task.cancel()
                await asyncio.sleep(0)
            if task.cancelled():
                self.assertFalse(lock.valid)
            else:
                lock.release()
            self.other.try_acquire("k").release()

    async def test_permits(self):
        two = self.table.semaphore("tasks", 2)
        most = held = 0

        async def works():
            nonlocal most, held
            async with await two.acquire_async(wait=60):
                held += 1
                most = max(most, held)
                await asyncio.sleep(0.02)
                held -= 1

        await asyncio.gather(*(works() for _ in range(6)))
        self.assertEqual((most, two.held), (2, 0))

    async def test_leases_and_tables(self):
        async with leasehold.Table(NAME) as table:
            async with table.acquire("a") as lease:
                self.assertTrue(lease.verify())
            self.assertFalse(lease.verify())
            async with table.acquire_many(["a", "b"]) as leases:
                self.assertTrue(leases.verify())
            self.other.try_acquire("b").release()
        with self.assertRaises(ValueError):
            table.acquire("a")


class Reprs(Case):
    def test_each_object_says_what_it_is(self):
        table = self.table
        lease = table.acquire("a key", mode=leasehold.SHARED)
        self.assertEqual(repr(lease), "<leasehold.Lease 'a key' shared, "
                         "token %d>" % lease.token)
        lease.release()
        self.assertRegex(repr(lease), "released>$")
        self.assertEqual(repr(table), "<leasehold.Table '%s'>" % NAME)
        lock = table.lock("k")
        self.assertEqual(repr(lock), "<leasehold.Lock 'k', free>")
        lock.acquire()
        self.assertEqual(repr(lock), "<leasehold.Lock 'k', held with "
                         "token %d>" % lock.token)
        ticket = self.other.start("k")
        self.assertEqual(repr(ticket), "<leasehold.Ticket 'k', rank 1>")
        ticket.cancel()
        self.assertEqual(repr(ticket), "<leasehold.Ticket 'k', over>")
        self.other.break_("k")
        with self.assertRaises(leasehold.Lost):
            lock.release()
        self.assertEqual(repr(lock), "<leasehold.Lock 'k', lost: broken>")
        self.assertEqual(repr(table.semaphore("s", 2)),
                         "<leasehold.Semaphore 's', 0 of 2 held>")
        session = table.session("reprs")
        self.assertEqual(repr(session),
                         "<leasehold.Session 'reprs', 0 leases>")
        session.destroy()
        self.assertEqual(repr(session), "<leasehold.Session, ended>")
        with table.acquire_many(["x", b"y"]) as leases:
            self.assertRegex(repr(leases), "^<leasehold.Leases .*'x'.*'y'")

    def test_errors_are_of_the_package(self):
        with self.other.acquire("k"):
            with self.assertRaises(leasehold.Busy) as caught:
                self.table.acquire("k", wait=0)
        self.assertEqual(type(caught.exception).__module__, "leasehold")


class Arguments(Case):
    HOW = {"ttl", "wait", "mode", "priority", "scope", "create", "info",
           "request", "holder", "value", "session", "policy", "shareable",
           "deadlock", "robust"}

    def test_each_is_named(self):
        for call, less in [
                (leasehold.Table.acquire, set()),
                (leasehold.Table.try_acquire, {"wait"}),
                (leasehold.Table.start, set()),
                (leasehold.Table.acquire_many, set()),
                (leasehold.Table.lock, set()),
                (leasehold.Table.lock_many, set()),
                (leasehold.Lock, set()),
                (leasehold.Session.acquire, {"session"}),
                (leasehold.Semaphore.acquire, set()),
                (leasehold.Semaphore.acquire_async, set()),
                (leasehold.Semaphore.try_acquire, {"wait"})]:
            named = inspect.signature(call).parameters
            self.assertEqual(self.HOW - less - set(named), set(), call)
            for p in named.values():
                self.assertNotEqual(p.kind, p.VAR_KEYWORD, call)
                if p.name in self.HOW:
                    self.assertEqual(p.kind, p.KEYWORD_ONLY, call)
        with self.assertRaises(TypeError):
            self.table.acquire("k", tll=5)

    def test_each_public_one_has_words(self):
        for name in leasehold.__all__:
            thing = getattr(leasehold, name)
            if not inspect.isclass(thing) and not inspect.isfunction(thing):
                continue
            self.assertTrue(thing.__doc__, name)
            for part, member in vars(thing).items() \
                    if inspect.isclass(thing) else ():
                if inspect.isfunction(member) and not part.startswith("_") \
                        and part not in ("close", "fileno"):
                    self.assertTrue(member.__doc__, name + "." + part)

    def test_version_is_the_headers(self):
        with open(os.path.join(HERE, "../../include/leasehold/version.h"),
                  encoding="ascii") as header:
            numbers = re.findall(r"^#define LEASEHOLD_VERSION_(?:MAJOR|MINOR|"
                                 r"PATCH) (\d+)$", header.read(), re.M)
        self.assertEqual(leasehold.library_version(), ".".join(numbers))


if __name__ == "__main__":
    del Case
    tap.run(sys.modules["__main__"], NAME)
