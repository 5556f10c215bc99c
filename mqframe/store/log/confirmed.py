"""The confirmed-offset port: up to where the log holds what the configured durability promises.

Consumers never see a record at or past the confirmed offset, so they cannot commit past one that a crash
would take back, and whoever has to know that a write lasts waits for the same offset. It is the smaller of
two: what is flushed as configured (store.md §3), and, where a broker's log is copied and that counts, what
enough copies have (replication.md §4), as a `Replicas` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqframe.core.storage.replicas import Replicas


class ConfirmedOffset(Protocol):
    """Names the first commit-log offset, in bytes, that is not confirmed yet."""

    def __call__(self) -> int:
        """The offset. It never goes back."""
        ...


def flushed_as_configured(
    sync: bool, appended: Callable[[], int], flushed: Callable[[], int]
) -> ConfirmedOffset:
    """The port of a broker whose copies do not count: `flushed` with synchronous flush, else `appended`."""
    return flushed if sync else appended


def flushed_and_copied(
    flushed: ConfirmedOffset, appended: Callable[[], int], replicas: Replicas
) -> ConfirmedOffset:
    """The port of a broker whose copies count: what both the flush, as configured, and copies confirm.

    `appended`: where the log ends.
    """
    copied = replicas.confirmed

    def both() -> int:
        on_disk, elsewhere = flushed(), copied(appended())
        return min(on_disk, elsewhere)

    return both
