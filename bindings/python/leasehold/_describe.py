# SPDX-License-Identifier: MIT
"""Keys and those around them, as dicts."""

from __future__ import annotations

from typing import Any

from ._constants import FOREVER
from ._library import _INT64_MAX as INT64_MAX
from ._library import _KeyInfo, _Party


_RUNS = (None, "running", "sleeping", "blocked", "stopped", "dead",
         "frozen", "inherited")
# whether other hosts have a cluster key
_OTHERS = (None, "none", "hold", "unknown")


def party(p: _Party, now_ns: int) -> dict[str, Any]:
    """A holder or waiter, as Table.explain() describes it."""
    who: dict[str, Any] = {
        "id": tuple(p.id), "pid": p.pid, "tid": p.tid, "uid": p.uid,
        "mode": p.mode, "application": p.application.decode("utf-8", "replace"),
        "info": p.info.decode("utf-8", "replace"), "run": _RUNS[p.run],
        "since": (now_ns - p.since_ns) / 1e9}
    if p.rank:
        who.update(rank=p.rank, priority=p.priority)
    else:
        who.update(token=p.token, waits_for=p.waits_for,
                   left=FOREVER if p.expires_ns == INT64_MAX else
                   (p.expires_ns - now_ns) / 1e9)
    return who


def around(info: _KeyInfo, now_ns: int) -> dict[str, Any]:
    """A key and those around it."""
    return {"key": info.key, "token": info.token, "rank": info.rank,
            "moved": bool(info.moved), "delayed": info.delayed_ns / 1e9,
            "elsewhere": info.elsewhere, "others": _OTHERS[info.others],
            "holders": [party(info.holders[i], now_ns)
                        for i in range(info.n_holders)],
            "waiters": [party(info.waiters[i], now_ns)
                        for i in range(info.n_waiters)]}
