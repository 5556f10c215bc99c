"""When queues list what was appended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_testing.manual_clock import ManualClock
from stores import bodies

from mqframe.store.appending.dispatching import GATHERED_SECONDS
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

Opened = Callable[..., MessageStore]
Message = Callable[..., Incoming]


async def test_what_is_asked_for_soon_comes_in_the_next_turn_and_once(
    opened: Opened, message: Message
) -> None:
    arrivals: list[int] = []
    store = opened(options={"on_arrival": lambda topic, queue, end, codes: arrivals.append(end)})
    for _ in range(3):
        store.writes.put(message())
        store.dispatch.soon()
    assert (store.dispatch.is_due, store.dispatch.listed_offset, arrivals) == (True, 0, [])
    await asyncio.sleep(0)
    assert (store.dispatch.is_due, arrivals) == (False, [3])
    assert store.dispatch.listed_offset == store.log.max_offset
    store.writes.put(message())
    store.dispatch.soon()
    await asyncio.sleep(0)
    assert arrivals == [3, 4]


async def test_a_store_that_was_let_go_of_dispatches_nothing_that_was_asked_for(
    opened: Opened, message: Message
) -> None:
    arrivals: list[int] = []
    store = opened(options={"on_arrival": lambda topic, queue, end, codes: arrivals.append(end)})
    store.writes.put(message())
    store.dispatch.soon()
    store.abandon()
    store.dispatch.soon()
    await asyncio.sleep(0)
    assert (arrivals, store.dispatch.is_due) == ([], True)


async def test_a_copy_gathers_what_it_lists(
    opened: Opened, small: Callable[..., StoreSettings], clock: ManualClock, message: Message, tmp_path: Path
) -> None:
    master = opened()
    copy = MessageStore.open(small(tmp_path / "copy"), clock, is_copy=True, copy=ReplicaLog.of)
    assert copy.replica is not None
    for body in (b"1", b"2"):
        stored = master.writes.put(message(body=body))
        part = master.log.log_bytes(stored.commit_log_offset, stored.size)
        assert part is not None
        copy.replica.append_copy(stored.commit_log_offset, bytes(part))
        copy.replica.dispatch_soon()
        await clock.aadvance(GATHERED_SECONDS * 0.4)
        assert copy.queues.max_offset("t", 0) == 0
    await clock.aadvance(GATHERED_SECONDS * 0.4)
    assert bodies(copy.reads.get("t", 0, 0, 9)) == [b"1", b"2"]
    copy.abandon()
