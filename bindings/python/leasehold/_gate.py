# SPDX-License-Identifier: MIT
"""Gates, which refuse the tokens of earlier holders."""

from __future__ import annotations

import errno
from ctypes import byref, c_uint64, c_void_p

from ._constants import EXCLUSIVE
from ._errors import ask, check
from ._library import _GATE_DURABLE, _NO_CREATE, lib
from ._options import Text, bytes_of, fence_token, shown
from ._wait import Handle


class Gate:
    """The largest token that has been at a resource, kept in a file."""

    def __init__(self, path: Text, resource: Text | None = None, *,
                 durable: bool = False, create: bool = True) -> None:
        out = c_void_p()
        check(lib.lh_gate_open(
            byref(out), bytes_of(path, "the path"),
            None if resource is None else bytes_of(resource, "the resource"),
            (_GATE_DURABLE if durable else 0) | (0 if create else _NO_CREATE)))
        self._handle = Handle(out.value, lib.lh_gate_close)
        self._path = shown(path)

    def __repr__(self) -> str:
        return "<leasehold.Gate %s%s>" % (
            self._path, ", closed" if self._handle.closed else "")

    def check(self, token: int, mode: int = EXCLUSIVE) -> bool:
        """May the holder of that token pass?  Raises if that is not known."""
        return ask(lib.lh_gate_check(self._handle.p, fence_token(token),
                                       mode), errno.ESTALE)

    def marks(self) -> tuple[int, int]:
        """The largest exclusive and shared tokens that have been shown."""
        exclusive, shared = c_uint64(), c_uint64()
        check(lib.lh_gate_marks(self._handle.p, byref(exclusive),
                                  byref(shared)))
        return exclusive.value, shared.value

    def close(self) -> None:
        self._handle.close()
