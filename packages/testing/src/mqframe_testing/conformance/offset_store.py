"""Conformance suite of offset stores."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom

Q0: Final = MessageQueue("orders", "broker-a", 0)
Q1: Final = MessageQueue("orders", "broker-a", 1)
OTHER: Final = MessageQueue("refunds", "broker-b", 0)

Script = Callable[[OffsetStore], Awaitable[None]]
Check = Callable[[Any, OffsetStore], Awaitable[None]]


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


def _keeping(offsets: Mapping[MessageQueue, int | None]) -> Callable[[Check], Callable[[Any], None]]:
    """A check that is handed a store and awaited; then the next store is to find `offsets`."""

    def made(check: Check) -> Callable[[Any], None]:
        def test(self: OffsetStoreConformance) -> None:
            self.with_store(lambda store: check(self, store))
            self.check_kept(offsets)

        test.__doc__ = check.__doc__
        return test

    return made


_with_store = _keeping({})


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

    def check_kept(self, offsets: Mapping[MessageQueue, int | None]) -> None:
        """A store that is made now, as the next process makes one, reads `offsets` of what is durable."""

        async def look(store: OffsetStore) -> None:
            for source in (ReadFrom.STORE, ReadFrom.MEMORY_THEN_STORE):
                assert {queue: await store.read(queue, source) for queue in offsets} == offsets

        self.with_store(look)

    @_with_store
    async def test_an_unknown_queue_has_no_offset(self, store: OffsetStore) -> None:
        """`None` from memory and from the store."""
        for source in ReadFrom:
            assert await store.read(Q0, source) is None
        assert store.snapshot("orders") == {}

    @_with_store
    async def test_update_is_seen_in_memory_at_once(self, store: OffsetStore) -> None:
        """Backwards too, unless it may only grow."""
        store.update(Q0, 10, increase_only=True)
        assert await store.read(Q0, ReadFrom.MEMORY) == 10
        store.update(Q0, 7, increase_only=True)
        assert await store.read(Q0, ReadFrom.MEMORY) == 10
        store.update(Q0, 7, increase_only=False)
        assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 7
        store.update(Q1, 0, increase_only=True)
        assert await store.read(Q1, ReadFrom.MEMORY) == 0

    @_with_store
    async def test_snapshot_has_the_queues_of_the_topic(self, store: OffsetStore) -> None:
        """And is a copy."""
        store.update(Q0, 1, increase_only=True)
        store.update(Q1, 2, increase_only=True)
        store.update(OTHER, 3, increase_only=True)
        taken = store.snapshot("orders")
        assert taken == {Q0: 1, Q1: 2}
        taken.clear()
        assert store.snapshot("refunds") == {OTHER: 3}
        assert store.snapshot("orders") == {Q0: 1, Q1: 2}

    @_keeping({Q0: None})
    async def test_nothing_is_durable_before_persist(self, store: OffsetStore) -> None:
        """`update` touches memory alone."""
        store.update(Q0, 5, increase_only=True)

    @_keeping({Q0: 5, Q1: None})
    async def test_what_was_persisted_is_there_for_the_next(self, store: OffsetStore) -> None:
        """Only the queues that were named."""
        store.update(Q0, 5, increase_only=True)
        store.update(Q1, 6, increase_only=True)
        await store.persist([Q0])

    @_keeping({Q0: 5, Q1: 9})
    async def test_persist_keeps_what_others_persisted_before(self, store: OffsetStore) -> None:
        """A queue that moved away and comes back starts where it was left."""
        store.update(Q0, 5, increase_only=True)
        await store.persist([Q0])
        store.forget(Q0)
        store.update(Q1, 9, increase_only=True)
        await store.persist([Q1])

    @_keeping({Q0: 3})
    async def test_persist_moves_on_and_back(self, store: OffsetStore) -> None:
        """The last offset counts, smaller ones (a reset) included."""
        for offset in (5, 12, 3):
            store.update(Q0, offset, increase_only=False)
            await store.persist({Q0})

    @_with_store
    async def test_persist_without_queues_changes_nothing(self, store: OffsetStore) -> None:
        """An empty collection is no reason to forget."""
        store.update(Q0, 5, increase_only=True)
        await store.persist([])
        assert await store.read(Q0, ReadFrom.MEMORY) == 5

    @_with_store
    async def test_forget_drops_memory_only(self, store: OffsetStore) -> None:
        """The durable copy stays."""
        store.update(Q0, 5, increase_only=True)
        await store.persist([Q0])
        store.update(Q0, 8, increase_only=True)
        store.forget(Q0)
        store.forget(Q1)
        assert await store.read(Q0, ReadFrom.MEMORY) is None
        assert await store.read(Q0, ReadFrom.MEMORY_THEN_STORE) == 5

    @_keeping({Q0: (1 << 63) - 1})
    async def test_large_offsets_survive(self, store: OffsetStore) -> None:
        """Offsets are 64-bit."""
        store.update(Q0, (1 << 63) - 1, increase_only=True)
        await store.persist([Q0])
