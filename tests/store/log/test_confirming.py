"""A store whose copies count: what readers see, and who is told what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from mqframe_replication.rules.in_sync import InSync, InSyncLimits
from mqframe_replication.store.replica_log import ReplicaLog
from mqframe_testing.manual_clock import ManualClock
from stores import bodies, put

from mqframe.core.errors import StoreUnavailable, TooFewReplicas
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.outcome import Outcome
from mqframe.hooks.interfaces.dispatcher import Dispatcher, LogRange
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

Opened = Callable[..., MessageStore]
Message = Callable[..., Incoming]


class Slaves:
    """What slaves of a store have."""

    def __init__(self, *known: int, in_sync: int = 2, least: int = 1) -> None:
        self.known = list(known)
        self.rule = InSync(InSyncLimits(in_sync, least), 3, lambda: self.known)

    @property
    def options(self) -> dict[str, Any]:
        return {"replicas": self.rule}

    def heard(self, *known: int) -> None:
        self.known = list(known)
        self.rule.heard()


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_readers_see_a_message_when_a_slave_has_it(opened: Opened, message: Message) -> None:
    slaves = Slaves(0)
    arrivals: list[int] = []
    options = slaves.options | {"on_arrival": lambda topic, queue, end, codes: arrivals.append(end)}
    store = opened(options=options)
    first = store.writes.put(message(body=b"first"))
    second = store.writes.put(message(body=b"second"))
    store.dispatch.now()
    assert store.reads.get("t", 0, 0, 10).status is GetStatus.NO_MESSAGE_IN_QUEUE
    assert store.search.record_at(first.commit_log_offset) is None
    assert (store.queues.max_offset("t", 0), store.log.confirmed_offset, arrivals) == (0, 0, [])
    slaves.heard(second.end_offset - 1)
    await turn()
    assert bodies(store.reads.get("t", 0, 0, 10)) == [b"first"]
    assert (store.queues.max_offset("t", 0), arrivals) == (1, [1])
    assert store.search.record_at(second.commit_log_offset) is None
    slaves.heard(second.end_offset)
    await turn()
    assert bodies(store.reads.get("t", 0, 0, 10)) == [b"first", b"second"]
    assert arrivals == [1, 2]


async def test_those_who_wait_are_told_once_a_turn_and_after_the_readers(
    opened: Opened, message: Message
) -> None:
    slaves = Slaves(0)
    order: list[object] = []
    options = slaves.options | {"on_arrival": lambda *what: order.append("arrival")}
    store = opened(options=options)
    for _ in range(3):
        store.confirming.when_decided(store.writes.put(message()).end_offset, order.append)
    first = store.log.max_offset // 3
    slaves.heard(first)
    slaves.heard(2 * first)
    assert order == []
    await turn()
    assert order == ["arrival", Outcome.CONFIRMED, Outcome.CONFIRMED]
    waits = asyncio.ensure_future(store.confirming.until_confirmed(3 * first))
    slaves.heard(3 * first)
    assert await waits
    assert order[3:] == ["arrival", Outcome.CONFIRMED]


async def test_the_disk_has_its_time_where_it_is_not_waited_for(
    opened: Opened, message: Message, clock: ManualClock
) -> None:
    slaves = Slaves(0)
    store = opened(options=slaves.options)
    store.start()
    told: list[Outcome] = []
    store.confirming.when_decided(store.writes.put(message()).end_offset, told.append)
    slaves.heard(store.log.max_offset)
    await turn()
    assert told == [Outcome.CONFIRMED]
    assert store.log.flushed_offset == 0
    assert store.log.lasting_offset == 0
    assert await store.confirming.flush_log()
    assert store.log.lasting_offset == store.log.max_offset
    late = store.writes.put(message()).end_offset
    store.confirming.when_decided(late, told.append)
    await clock.aadvance(2.9)
    assert told == [Outcome.CONFIRMED]
    await clock.aadvance(0.3)
    assert told == [Outcome.CONFIRMED, Outcome.NOT_COPIED]
    await store.stop()


async def test_with_synchronous_flush_the_disk_counts_as_well(opened: Opened, message: Message) -> None:
    slaves = Slaves(0)
    store = opened(flush="SYNC_FLUSH", options=slaves.options)
    store.start()
    end = store.writes.put(message()).end_offset
    slaves.heard(end)
    store.dispatch.now()
    assert store.queues.max_offset("t", 0) == 0
    assert await store.confirming.until_decided(end) is Outcome.CONFIRMED
    assert (store.queues.max_offset("t", 0), store.log.flushed_offset) == (1, end)
    await store.stop()


async def test_a_lone_master_serves_on_and_says_so(opened: Opened, message: Message) -> None:
    slaves = Slaves(0)
    store = opened(options=slaves.options)
    waits = asyncio.ensure_future(store.confirming.until_decided(store.writes.put(message()).end_offset))
    await turn()
    assert not waits.done()
    slaves.heard()
    assert await waits is Outcome.CONFIRMED
    assert store.confirming.status_of(store.log.max_offset) is Outcome.TOO_FEW_COPIES
    assert store.queues.max_offset("t", 0) == 1


async def test_with_too_few_nothing_is_stored_in_any_way(opened: Opened, message: Message) -> None:
    slaves = Slaves(0, least=2)
    store = opened(options=slaves.options)
    store.writes.put(message())
    end = store.log.max_offset
    slaves.heard()
    for write in (
        lambda: store.writes.put(message()),
        lambda: store.writes.put_batch(message(), b""),
        lambda: store.writes.make_room(10),
    ):
        with pytest.raises(TooFewReplicas, match=r"^in-sync replicas not enough: 1 of at least 2"):
            write()
    assert (store.log.max_offset, store.queues.max_offset("t", 0)) == (end, 0)
    assert await store.confirming.until_decided(end) is Outcome.TOO_FEW_COPIES
    slaves.heard(end)
    await turn()
    assert store.queues.max_offset("t", 0) == 1
    put(store, message())


async def test_a_stop_keeps_what_slaves_do_not_have_and_the_next_start_shows_it(
    opened: Opened, message: Message, tmp_path: Path
) -> None:
    store = opened(options=Slaves(0).options)
    store.start()
    store.writes.put(message())
    store.dispatch.now()
    assert store.queues.max_offset("t", 0) == 0
    await store.stop()
    assert not (tmp_path / "store/abort").exists()
    slaves = Slaves(least=2)
    store = opened(options=slaves.options)
    assert bodies(store.reads.get("t", 0, 0, 10)) == [b"hello"]
    assert store.log.confirmed_offset == store.log.max_offset


async def test_following_dispatchers_are_fed_what_is_confirmed(opened: Opened, message: Message) -> None:
    class Noting(Dispatcher):
        name = "noting"
        ends: ClassVar[list[int]] = []

        def dispatch(self, stretch: LogRange) -> int:
            self.ends.append(stretch.end)
            return stretch.end

    slaves = Slaves(0)
    store = opened(options=slaves.options)
    store.start()
    dispatcher = Noting()
    store.followers.add(dispatcher)
    first = store.writes.put(message()).end_offset
    store.writes.put(message())
    slaves.heard(first)
    await turn()
    async with asyncio.timeout(60):
        while not dispatcher.ends:
            await asyncio.sleep(0)
    assert dispatcher.ends == [first]
    await store.stop()
    assert dispatcher.ends == [first]


class Told:
    """What a leader told a copy to be confirmed."""

    timeout_seconds = 3.0

    def __init__(self) -> None:
        self.offset = 0
        self.moved: Callable[[], object] = lambda: None

    def attach(self, end: int, moved: Callable[[], object]) -> int:
        self.moved = moved
        return end

    def confirmed(self, end: int) -> int:
        return min(self.offset, end)

    def trouble(self, end: int) -> Outcome | None:
        return None

    def refusal(self) -> StoreUnavailable | None:
        return None

    def tell(self, offset: int) -> None:
        self.offset = offset
        self.moved()


async def test_a_copy_shows_what_its_leader_said_to_be_confirmed(
    opened: Opened, small: Callable[..., StoreSettings], clock: ManualClock, message: Message, tmp_path: Path
) -> None:
    master = opened()
    first = master.writes.put(message(body=b"first")).end_offset
    master.writes.put(message(body=b"second"))
    told = Told()
    copy = MessageStore.open(small(tmp_path / "copy"), clock, is_copy=True, copy=ReplicaLog.of, replicas=told)
    told.tell(first - 1)
    part = master.log.log_bytes(0, master.log.max_offset)
    assert part is not None
    copy.replica.append_copy(0, bytes(part))
    copy.dispatch.now()
    assert (copy.log.max_offset, copy.queues.max_offset("t", 0)) == (master.log.max_offset, 0)
    told.tell(first)
    await clock.aadvance(0.01)  # a copy gathers what it lists
    assert bodies(copy.reads.get("t", 0, 0, 10)) == [b"first"]
    told.tell(1 << 40)
    await clock.aadvance(0.01)
    assert bodies(copy.reads.get("t", 0, 0, 10)) == [b"first", b"second"]
    copy.abandon()
