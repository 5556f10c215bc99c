"""How carefully a store is opened, and where checking its log starts after a crash (store.md §4)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

CHECKPOINT_MARGIN_MS: Final = 3000
"""Checkpoints run ahead of the disk by up to this much (source: StoreCheckpoint.getMinTimestamp)."""


class Care(Enum):
    """How a store is opened.

    USUAL: what the last stop and the checkpoint vouch for is trusted. THOROUGH: every record is checked.
    ACCEPT_LOSS: the same, and where messages may have been lost the store goes on without them.
    """

    USUAL = "usual"
    THOROUGH = "thorough"
    ACCEPT_LOSS = "accept loss"


def start_after_crash(
    first_timestamps: Sequence[int | None], log_flushed_ms: int, queues_flushed_ms: int
) -> int:
    """The number of the file to check and dispatch from: the newest that the checkpoint covers, or the first.

    `first_timestamps`: of each file, oldest first, the store time in ms of its first record, `None` when that
    is no valid record. The other two: the checkpoint's times, ms.
    """
    trusted = min(log_flushed_ms, queues_flushed_ms) - CHECKPOINT_MARGIN_MS
    for number in range(len(first_timestamps) - 1, -1, -1):
        stored = first_timestamps[number]
        if stored and stored <= trusted:
            return number
    return 0
