"""The confirmed-offset port: up to where the log holds what the configured durability promises.

Consumers never see a record at or past the confirmed offset, so they cannot commit past one that a crash
would take back. Until a replica exists it is "what is flushed as configured" (store.md §3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ConfirmedOffset(Protocol):
    """Names the first commit-log offset, in bytes, that is not confirmed yet."""

    def __call__(self) -> int:
        """The offset. It never goes back."""
        ...


def flushed_as_configured(
    sync: bool, appended: Callable[[], int], flushed: Callable[[], int]
) -> ConfirmedOffset:
    """The port of a broker without replicas: `flushed` with synchronous flush, else `appended`; in bytes."""
    return flushed if sync else appended
