# SPDX-License-Identifier: MIT
"""Arguments, as the C interface takes them."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_uint64, c_void_p, sizeof
from typing import (TYPE_CHECKING, Iterable, NamedTuple, Tuple, Union)

from ._constants import EPHEMERAL, EXCLUSIVE, POLICY_LEASE
from ._library import (_INT64_MAX as INT64_MAX, _NO_CREATE, _NO_DEADLOCK,
                       _ROBUST, _SHAREABLE, _AcquireMore, _AcquireOpts, _Item)

if TYPE_CHECKING:
    from ._session import Session

#: a key or a name: text is encoded as UTF-8
Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: keys, or pairs of key and mode
Keys = Iterable[Union[Text, Tuple[Text, int]]]


def bytes_of(text: Text, what: str) -> bytes:
    """The bytes of a name, which has no NUL byte."""
    data = text.encode() if isinstance(text, str) else os.fspath(text)
    data = data.encode() if isinstance(data, str) else bytes(data)
    if b"\0" in data:
        raise ValueError("%s has a NUL byte in it" % what)
    return data


def value_of(value: bytes) -> bytes:
    """The bytes of a value, which is not a number (of zeros) or a list."""
    return memoryview(value).tobytes()


def shown(text: Text) -> str:
    """A name as a repr shows it."""
    return repr(os.fsdecode(text))


def ms(seconds: float) -> int:
    """Rounded up: a wait is never shorter than asked."""
    if seconds >= INT64_MAX / 1000:
        return INT64_MAX
    return -int(-seconds * 1000 // 1)


def fence_token(token: int) -> int:
    if not 0 < token <= INT64_MAX:
        raise ValueError("a fence token is 1 to 2**63 - 1")
    return token


def request_id(request: int) -> ctypes.Array[c_uint64]:
    """A request id, 1 .. 2**128 - 1, as two words."""
    if not 0 < request < 1 << 128:
        raise ValueError("a request id is a number from 1 to 2**128 - 1")
    return (c_uint64 * 2)(request & (1 << 64) - 1, request >> 64)


def items(keys: Keys, mode: int) -> ctypes.Array[_Item]:
    """Names, or pairs of name and mode."""
    if isinstance(keys, (str, bytes)):      # each letter of it
        raise TypeError("a list of keys, not one key")
    pairs = [k if isinstance(k, tuple) else (k, mode) for k in keys]
    return (_Item * len(pairs))(*[_Item(bytes_of(k, "a key"), m)
                                  for k, m in pairs])


class How(NamedTuple):
    """What there is to say about an acquire; see Table.acquire()."""
    ttl: float = 30
    wait: float = 3600
    mode: int = EXCLUSIVE
    priority: int = 0
    scope: int = EPHEMERAL
    create: bool = True
    info: Text | None = None
    request: int | None = None
    holder: Text | None = None
    value: bytes | None = None
    session: Session | None = None
    policy: int = POLICY_LEASE
    shareable: bool = False
    deadlock: bool = True
    robust: bool = False

    def options(self) -> _AcquireOpts:
        opts = _AcquireOpts(
            size=sizeof(_AcquireOpts), mode=self.mode, scope=self.scope,
            priority=self.priority, ttl_ms=ms(self.ttl),
            max_wait_ms=ms(self.wait),
            flags=((0 if self.create else _NO_CREATE) |
                   (_SHAREABLE if self.shareable else 0) |
                   (0 if self.deadlock else _NO_DEADLOCK) |
                   (_ROBUST if self.robust else 0)))
        if self.policy or any(
                x is not None for x in (self.info, self.request, self.holder,
                                        self.value, self.session)):
            opts.more = ctypes.pointer(self._more())
        return opts

    def _more(self) -> _AcquireMore:
        more = _AcquireMore(size=sizeof(_AcquireMore), policy=self.policy)
        if self.info is not None:
            more.info = bytes_of(self.info, "info")
        if self.request is not None:
            more.request = request_id(self.request)
        if self.holder is not None:
            more.holder = bytes_of(self.holder, "the holder id")
        if self.session is not None:
            more.session = self.session.p
        if self.value is not None:
            data = value_of(self.value)
            more.bytes = ctypes.create_string_buffer(data, len(data) or 1)
            more.value = ctypes.cast(more.bytes, c_void_p)
            more.value_len = len(data)
        return more
