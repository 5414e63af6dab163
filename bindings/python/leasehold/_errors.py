# SPDX-License-Identifier: MIT
"""Failed calls, as exceptions."""

from __future__ import annotations

import errno

from ._library import lib


class Error(OSError):
    """A failed call: errno, and in strerror what, why, and what to do."""


class Busy(Error, BlockingIOError):
    """Others hold the key or wait for it, and the call did not wait."""


class TimedOut(Error, TimeoutError):
    """Others held the key or waited for it until the time was over."""


class Deadlock(Error):
    """You would wait for each other for ever."""


class Cancelled(Error):
    """The wait was cancelled."""


class Lost(Error):
    """The lease is lost, or the table was removed."""


class NotOwner(Error, PermissionError):
    """Another session's, or inherited over fork."""


class NotFound(Error, FileNotFoundError):
    """No such table, key, or gate."""


_CLASSES: dict[int, type[Error]] = {
    errno.EAGAIN: Busy, errno.ETIMEDOUT: TimedOut, errno.EDEADLK: Deadlock,
    errno.ECANCELED: Cancelled, errno.ESTALE: Lost, errno.EPERM: NotOwner,
    errno.EACCES: NotOwner, errno.ENOENT: NotFound}


def failure(result: int) -> Error:
    text = lib.lh_error_detail() or lib.lh_strerror(result)
    return _CLASSES.get(-result, Error)(-result, text.decode("utf-8",
                                                             "replace"))


def check(result: int) -> int:
    if result < 0:
        raise failure(result)
    return result


def ask(result: int, no: int) -> bool:
    """0: yes; -no: no; everything else is raised."""
    return result != -no and check(result) == 0
