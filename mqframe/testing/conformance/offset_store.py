"""What every offset store has to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from mqframe.core.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom

Q0: Final = MessageQueue("orders", "broker-a", 0)
Q1: Final = MessageQueue("orders", "broker-a", 1)
OTHER: Final = MessageQueue("refunds", "broker-b", 0)

Script = Callable[[OffsetStore], Awaitable[None]]


class MemoryWire:
    """A broker's offsets in a dict, in place of a broker."""

    def __init__(self) -> None:
        self.offsets: dict[MessageQueue, int] = {}

    async def query(self, queue: MessageQueue) -> int | None:
        """The committed offset, or `None`."""
        return self.offsets.get(queue)

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Remember `offset`."""
        self.offsets[queue] = offset


class OffsetStoreConformance:
    """Memory is updated at once; what was persisted is there for the next process with the same context.

    Each test runs twice: with the loop in the main thread, as under `AsyncPushConsumer`, and with the loop in
    another thread, as under the blocking `PushConsumer`.
    """

    wire: MemoryWire
    context: OffsetStoreContext
    _blocking: bool

    def make(self, context: OffsetStoreContext) -> OffsetStore:
        """A fresh store over what earlier stores with `context` kept."""
        raise NotImplementedError

    @pytest.fixture(autouse=True, params=["async", "blocking"])
    def _context(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        self._blocking = request.param == "blocking"
        self.wire = MemoryWire()
        self.context = OffsetStoreContext("billing", "10.0.0.1@42", self.wire, tmp_path)

    def with_store(self, script: Script) -> None:
        """Run `script` with a store that is loaded before and closed after, on a loop of its own."""

        async def run() -> None:
            store = self.make(self.context)
            await store.load()
            try:
                await script(store)
            finally:
                await store.close()

        if not self._blocking:
            asyncio.run(run())
            return
        with ThreadPoolExecutor(1) as threads:
            threads.submit(asyncio.run, run()).result()

    def test_an_unknown_queue_has_no_offset(self) -> None:
        """`None` from memory and from the store."""

        async def script(store: OffsetStore) -> None:
            for source in ReadFrom:
                assert await store.read(Q0, source) is None
            assert store.snapshot("orders") == {}

        self.with_store(script)

    def test_update_is_seen_in_memory_at_once(self) -> None:
        """Backwards too, unless it may only grow."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, 10, increase_only=True)
            assert await store.read(Q0, ReadFrom.MEMORY) == 10
            store.update(Q0, 7, increase_only=True)
            assert await store.read(Q0, ReadFrom.MEMORY) == 10
            store.update(Q0, 7, increase_only=False)
            assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 7
            store.update(Q1, 0, increase_only=True)
            assert await store.read(Q1, ReadFrom.MEMORY) == 0

        self.with_store(script)

    def test_snapshot_has_the_queues_of_the_topic(self) -> None:
        """And is a copy."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, 1, increase_only=True)
            store.update(Q1, 2, increase_only=True)
            store.update(OTHER, 3, increase_only=True)
            taken = store.snapshot("orders")
            assert taken == {Q0: 1, Q1: 2}
            taken.clear()
            assert store.snapshot("refunds") == {OTHER: 3}
            assert store.snapshot("orders") == {Q0: 1, Q1: 2}

        self.with_store(script)

    def test_nothing_is_durable_before_persist(self) -> None:
        """`update` touches memory alone."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, 5, increase_only=True)

        async def look(store: OffsetStore) -> None:
            assert await store.read(Q0, ReadFrom.STORE) is None

        self.with_store(script)
        self.with_store(look)

    def test_what_was_persisted_is_there_for_the_next(self) -> None:
        """Only the queues that were named."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, 5, increase_only=True)
            store.update(Q1, 6, increase_only=True)
            await store.persist([Q0])

        async def look(store: OffsetStore) -> None:
            assert await store.read(Q0, ReadFrom.STORE) == 5
            assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 5
            assert await store.read(Q1, ReadFrom.STORE) is None

        self.with_store(script)
        self.with_store(look)

    def test_persist_keeps_what_others_persisted_before(self) -> None:
        """A queue that moved away and comes back starts where it was left."""

        async def first(store: OffsetStore) -> None:
            store.update(Q0, 5, increase_only=True)
            await store.persist([Q0])
            store.forget(Q0)
            store.update(Q1, 9, increase_only=True)
            await store.persist([Q1])

        async def look(store: OffsetStore) -> None:
            assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 5
            assert await store.read(Q1, ReadFrom.MEMORY_THEN_STORE) == 9

        self.with_store(first)
        self.with_store(look)

    def test_persist_moves_on_and_back(self) -> None:
        """The last offset counts, smaller ones (a reset) included."""

        async def script(store: OffsetStore) -> None:
            for offset in (5, 12, 3):
                store.update(Q0, offset, increase_only=False)
                await store.persist({Q0})

        async def look(store: OffsetStore) -> None:
            assert await store.read(Q0, ReadFrom.STORE) == 3

        self.with_store(script)
        self.with_store(look)

    def test_persist_without_queues_changes_nothing(self) -> None:
        """An empty collection is no reason to forget."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, 5, increase_only=True)
            await store.persist([])
            assert await store.read(Q0, ReadFrom.MEMORY) == 5

        self.with_store(script)

    def test_forget_drops_memory_only(self) -> None:
        """The durable copy stays."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, 5, increase_only=True)
            await store.persist([Q0])
            store.update(Q0, 8, increase_only=True)
            store.forget(Q0)
            store.forget(Q1)
            assert await store.read(Q0, ReadFrom.MEMORY) is None
            assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 5

        self.with_store(script)

    def test_large_offsets_survive(self) -> None:
        """Offsets are 64-bit."""

        async def script(store: OffsetStore) -> None:
            store.update(Q0, (1 << 63) - 1, increase_only=True)
            await store.persist([Q0])

        async def look(store: OffsetStore) -> None:
            assert await store.read(Q0, ReadFrom.STORE) == (1 << 63) - 1

        self.with_store(script)
        self.with_store(look)
