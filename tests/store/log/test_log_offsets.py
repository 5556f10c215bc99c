"""Where a log begins and ends, and up to where it counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mqframe_replication.rules.in_sync import InSync, InSyncLimits
from stores import put

from mqframe.store.incoming import Incoming
from mqframe.store.log.log_offsets import LogOffsets
from mqframe.store.message_store import MessageStore


class Log:
    """A log of ten bytes, some of which are on disk."""

    file_bytes = end = 10
    flushed = 5


@pytest.mark.parametrize(("sync", "confirmed"), [(False, 10), (True, 5)])
def test_what_is_flushed_as_configured(sync: bool, confirmed: int) -> None:
    log: Any = Log()
    assert LogOffsets(log, sync, None).confirmed() == confirmed


def test_what_both_the_disk_and_copies_have() -> None:
    known, log = [7], Log()
    replicas = InSync(InSyncLimits(2), 3, lambda: known)
    replicas.attach(0, lambda: None)
    any_log: Any = log
    offsets = LogOffsets(any_log, True, replicas)
    log.flushed = 9
    assert offsets.confirmed() == 7
    known[0] = 10
    replicas.heard()
    assert offsets.confirmed() == 9
    log.flushed = 10
    assert offsets.confirmed() == 10


def test_offsets_of_a_log_that_is_not_flushed(
    opened: Callable[..., MessageStore], message: Callable[..., Incoming]
) -> None:
    log = (store := opened()).log
    assert (log.min_offset, log.max_offset, log.flushed_offset, log.confirmed_offset) == (0, 0, 0, 0)
    first, second = put(store, message(), message())
    assert (log.max_offset, log.flushed_offset) == (second.end_offset, 0)
    assert (log.confirmed_offset, log.lasting_offset) == (second.end_offset, 0)
    assert log.log_bytes(first.end_offset, second.size) == store.search.record_at(first.end_offset)
    assert log.log_bytes(first.end_offset, second.size + 1) is None


async def test_what_copies_lack_is_neither_confirmed_nor_shown(
    opened: Callable[..., MessageStore], message: Callable[..., Incoming]
) -> None:
    known = [0]
    replicas = InSync(InSyncLimits(2, 1), 3, lambda: known)
    store = opened(options={"replicas": replicas})
    first, second = (store.writes.put(message()) for _ in range(2))
    assert (store.log.max_offset, store.log.confirmed_offset) == (second.end_offset, 0)
    known[0] = first.end_offset
    replicas.heard()
    assert (store.log.confirmed_offset, store.log.shown) == (first.end_offset, 0)
    store.dispatch.now()
    assert store.log.shown == store.dispatch.listed_offset == first.end_offset
