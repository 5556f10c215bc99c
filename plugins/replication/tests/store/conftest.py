"""Stores of slaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from indexed import small_index
from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_testing.manual_clock import ManualClock
from store.conftest import clock, message, opened, small

from mqframe.core.storage.log_reading import LogReading
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

__all__ = ["clock", "message", "opened", "replica", "small"]


@pytest.fixture
def replica(
    small: Callable[..., StoreSettings], clock: ManualClock, tmp_path: Path
) -> Iterator[Callable[..., MessageStore]]:
    """Opens stores that are copies, below `tmp_path`/replica, and lets go of them in the end."""
    opened: list[MessageStore] = []

    def open_replica(log_reading: type[LogReading] = LogReading, **changes: Any) -> MessageStore:
        store = MessageStore.open(
            small(tmp_path / "replica", **changes),
            clock,
            is_copy=True,
            copy=ReplicaLog.of,
            open_index=small_index(),
            log_reading=log_reading,
        )
        opened.append(store)
        return store

    yield open_replica
    for store in opened:
        store.abandon()
