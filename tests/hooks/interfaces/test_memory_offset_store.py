import asyncio
from collections.abc import Collection, Mapping

import pytest
from mqframe_testing.conformance import OffsetStoreConformance

from mqframe.core.errors import RetryError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import MemoryOffsetStore, OffsetStoreContext, ReadFrom, SavedOffsetStore

Q0, Q1 = (MessageQueue("orders", "broker-a", number) for number in range(2))
OTHER = MessageQueue("bills", "broker-a", 0)


class Kept(MemoryOffsetStore):
    """Over a table. `reads`: queues that it was asked for."""

    def __init__(self, **stored: int) -> None:
        super().__init__()
        self.stored = {Q0: stored["q0"]} if stored else {}
        self.reads: list[MessageQueue] = []
        self.away = False

    async def read_stored(self, queue: MessageQueue) -> int | None:
        self.reads.append(queue)
        if self.away:
            raise RetryError("away")
        return self.stored.get(queue)

    async def persist(self, queues: Collection[MessageQueue]) -> None: ...


def read(store: Kept, queue: MessageQueue, source: ReadFrom) -> int | None:
    return asyncio.run(store.read(queue, source))


def test_an_offset_moves_back_only_where_that_is_meant() -> None:
    store = Kept()
    for offset, increase_only in ((5, True), (3, True), (0, True)):
        store.update(Q0, offset, increase_only=increase_only)
    assert store.snapshot("orders") == {Q0: 5}
    store.update(Q0, 3, increase_only=False)
    assert store.snapshot("orders") == {Q0: 3}


def test_the_first_offset_may_be_zero() -> None:
    store = Kept()
    store.update(Q0, 0, increase_only=True)
    assert store.snapshot("orders") == {Q0: 0}


def test_memory_alone_asks_nobody() -> None:
    store = Kept(q0=7)
    assert read(store, Q0, ReadFrom.MEMORY) is None
    assert store.reads == []


def test_what_the_store_gives_is_remembered() -> None:
    store = Kept(q0=7)
    assert read(store, Q0, ReadFrom.MEMORY_THEN_STORE) == 7
    assert read(store, Q0, ReadFrom.MEMORY_THEN_STORE) == 7
    assert store.reads == [Q0]
    assert store.snapshot("orders") == {Q0: 7}


def test_the_store_wins_where_it_is_named() -> None:
    store = Kept(q0=7)
    store.update(Q0, 90, increase_only=True)
    assert read(store, Q0, ReadFrom.STORE) == 7
    assert store.snapshot("orders") == {Q0: 7}


def test_nothing_stored_leaves_memory_as_it_is() -> None:
    store = Kept()
    store.update(Q1, 4, increase_only=True)
    assert read(store, Q1, ReadFrom.STORE) is None
    assert store.snapshot("orders") == {Q1: 4}


def test_a_store_that_is_away_is_an_error() -> None:
    store = Kept(q0=7)
    store.away = True
    with pytest.raises(RetryError):
        read(store, Q0, ReadFrom.MEMORY_THEN_STORE)
    assert store.snapshot("orders") == {}


def test_a_snapshot_is_a_copy_of_one_topic() -> None:
    store = Kept()
    for queue, offset in ((Q0, 1), (Q1, 2), (OTHER, 3)):
        store.update(queue, offset, increase_only=True)
    found = store.snapshot("orders")
    found[Q0] = 100
    assert store.snapshot("orders") == {Q0: 1, Q1: 2}
    store.forget(Q0)
    store.forget(Q0)
    assert store.snapshot("orders") == {Q1: 2}
    assert store.snapshot("bills") == {OTHER: 3}


async def test_what_is_consumed_while_the_store_is_asked_is_not_undone() -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    class Slow(Kept):
        async def read_stored(self, queue: MessageQueue) -> int | None:
            asked.set()
            await answered.wait()
            return 0

    store = Slow()
    reading = asyncio.ensure_future(store.read(Q0, ReadFrom.MEMORY_THEN_STORE))
    await asyncio.wait_for(asked.wait(), 60)
    store.update(Q0, 3, increase_only=True)
    answered.set()
    assert (await reading, store.offsets[Q0]) == (3, 3)


class InADict(SavedOffsetStore):
    """Nothing but `load` and `save`."""

    def __init__(self, kept: dict[MessageQueue, int]) -> None:
        super().__init__()
        self.kept = kept

    async def load(self) -> dict[MessageQueue, int]:
        return self.kept

    async def save(self, offsets: Mapping[MessageQueue, int]) -> None:
        self.kept |= offsets


class TestSavedOffsetStore(OffsetStoreConformance):
    kept: dict[str, dict[MessageQueue, int]]

    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        self.kept = {}

    def make(self, context: OffsetStoreContext) -> InADict:
        return InADict(self.kept.setdefault(context.group, {}))

    async def test_only_what_is_owned_is_saved(self) -> None:
        store = InADict({OTHER: 7})
        store.update(Q0, 3, increase_only=True)
        store.update(Q1, 4, increase_only=True)
        await store.persist([Q0])
        assert store.kept == {OTHER: 7, Q0: 3}
