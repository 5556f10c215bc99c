"""Where a log begins and ends, and up to where it counts."""

from __future__ import annotations

from collections.abc import Callable

from mqframe_replication.rules.in_sync import InSync, InSyncLimits
from stores import put

from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore


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
