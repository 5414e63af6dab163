# SPDX-License-Identifier: MIT
"""Numbers of the C interface that callers see."""

from __future__ import annotations

EXCLUSIVE, SHARED = 0, 1
EPHEMERAL, LOCAL, QUORUM = 0, 1, 2
FOREVER = float("inf")

NOTE_PREVIOUS_DIED, NOTE_PREVIOUS_EXPIRED, NOTE_PREVIOUS_BROKEN = 1, 2, 4
NOTE_INCONSISTENT = 0x10
POLICY_LEASE, POLICY_STRICT, POLICY_LIVE = 0, 1, 2
FREE, HELD, LOST = 0, 1, 2
LOSSES: dict[int, str | None] = {
    0: None, 1: "expired", 2: "broken", 3: "session ended",
    4: "table removed", 5: "cluster lost", 6: "released"}
ACQUIRED, RENEWED, FAILED, WARNING, LOSS, RELEASED, CLOSED, ASKED = (
    1, 2, 4, 8, 16, 32, 64, 128)
