# SPDX-License-Identifier: MIT
"""Handles, waits that can be ended, and with blocks."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from ctypes import byref
from types import TracebackType
from typing import Any, Callable

from ._errors import Error, Lost, check, failure
from ._library import _AcquireOpts, _Cancel, lib


class Handle:
    """What has to be closed once, by whoever comes first."""

    def __init__(self, pointer: int | None, close: Callable[[int], int],
                 keep: object = None) -> None:
        self._pointer, self._close, self._keep = pointer, close, keep
        self._guard = threading.Lock()

    @property
    def p(self) -> int:
        if self._pointer is None:
            raise ValueError("it has been closed")
        return self._pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None

    def close(self) -> None:
        with self._guard:
            if self._pointer is None:
                return
            check(self._close(self._pointer))
            self._pointer = None

    def gone(self) -> None:
        """It has ended by itself."""
        with self._guard:
            self._pointer = None

    def __del__(self) -> None:
        try:
            self.close()
        except Error:
            pass                # in a forked child, or beside a waiting thread


def interruptible(call: Callable[[_AcquireOpts], Any], opts: _AcquireOpts,
                  undo: Callable[[], object]) -> int:
    """call(opts), which may wait; in the main thread so that a signal's Python
    handler runs, and ends the wait if it raises.  (A grant is undone then.)"""
    if (opts.max_wait_ms == 0 or
            threading.current_thread() is not threading.main_thread()):
        return check(call(opts))
    cancel, ended = _Cancel(), threading.Event()
    out: list[int | Error] = []
    opts.cancel = ctypes.pointer(cancel)

    def wait() -> None:
        try:
            result = call(opts)
            out.append(failure(result) if result < 0 else result)
        finally:
            ended.set()

    thread = threading.Thread(target=wait, daemon=True)
    try:
        thread.start()
        ended.wait()
    except BaseException:
        lib.lh_cancel(byref(cancel))
        if thread.ident is not None:
            thread.join()
        if out and not isinstance(out[0], Error):
            undo()
        raise
    thread.join()
    result = out[0]
    if isinstance(result, Error):
        raise result
    return result


async def awaited(call: Callable[[_AcquireOpts], Any], opts: _AcquireOpts,
                  undo: Callable[[], object]) -> int:
    """The same for a task.  If the task is cancelled, the wait ends, and a grant
    is undone.

    Each wait has a thread of its own.  In a pool, other tasks would wait for the
    waits before theirs; and a thread that has been granted one key and waits for
    another would look like a deadlock."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[int | Error] = loop.create_future()
    cancel = _Cancel()
    opts.cancel = ctypes.pointer(cancel)

    def wait() -> None:
        result: int = call(opts)
        outcome = failure(result) if result < 0 else result
        try:
            loop.call_soon_threadsafe(done.set_result, outcome)
        except RuntimeError:    # the loop was closed, and its tasks with it
            if not isinstance(outcome, Error):
                undo()

    threading.Thread(target=wait, daemon=True).start()
    cancelled: asyncio.CancelledError | None = None
    while not done.done():
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError as error:
            cancelled = error   # and perhaps again, before the wait has ended
            lib.lh_cancel(byref(cancel))
    outcome = done.result()
    if cancelled is not None:
        if not isinstance(outcome, Error):
            undo()
        raise cancelled
    if isinstance(outcome, Error):
        raise outcome
    return outcome


class Released:
    """Released at the end of its with block.  That it was lost meanwhile is
    raised, unless something else is."""

    def release(self) -> None:
        raise NotImplementedError

    def __exit__(self, kind: type[BaseException] | None,
                 value: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.release()
        except Lost:
            if kind is None:
                raise

    async def __aexit__(self, kind: type[BaseException] | None,
                        value: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.__exit__(kind, value, trace)
