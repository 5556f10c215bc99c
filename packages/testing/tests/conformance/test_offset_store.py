"""The suite of offset stores: a good one passes, each faulty one is caught by the check of its rule."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import pytest
from mqframe_testing.conformance import MemoryWire, OffsetStoreConformance

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, OffsetStoreContext, ReadFrom


class Filed(OffsetStore):
    """Keeps offsets in one JSON file."""

    def __init__(self, context: OffsetStoreContext) -> None:
        self.memory: dict[MessageQueue, int] = {}
        self.path = context.directory / "offsets.json"

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        if not increase_only or offset > self.memory.get(queue, -1):
            self.memory[queue] = offset

    async def read(self, queue: MessageQueue, source: ReadFrom) -> int | None:
        if source is not ReadFrom.STORE and queue in self.memory:
            return self.memory[queue]
        return None if source is ReadFrom.MEMORY else self.kept().get(str(queue))

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        self.keep(self.kept() | {str(each): self.memory[each] for each in queues})

    def forget(self, queue: MessageQueue) -> None:
        self.memory.pop(queue, None)

    def snapshot(self, topic: str) -> dict[MessageQueue, int]:
        return {queue: offset for queue, offset in self.memory.items() if queue.topic == topic}

    def kept(self) -> dict[str, int]:
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def keep(self, offsets: dict[str, int]) -> None:
        self.path.write_text(json.dumps(offsets))


class TestOffsetStore(OffsetStoreConformance):
    def make(self, context: OffsetStoreContext) -> OffsetStore:
        return Filed(context)


class FromZero(Filed):
    """Takes 0 for what it does not know."""

    async def read(self, queue: MessageQueue, source: ReadFrom) -> int | None:
        return await super().read(queue, source) or 0


class GrowingOnly(Filed):
    """Never goes back, resets included."""

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        super().update(queue, offset, increase_only=True)


class GoingBack(Filed):
    """Goes back where it may only grow."""

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        super().update(queue, offset, increase_only=False)


class ShowsAll(Filed):
    """Mixes topics."""

    def snapshot(self, topic: str) -> dict[MessageQueue, int]:
        return dict(self.memory)


class Eager(Filed):
    """Writes with every update."""

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        super().update(queue, offset, increase_only=increase_only)
        self.keep(self.kept() | {str(queue): self.memory[queue]})


class InMemory(Filed):
    """Keeps nothing."""

    def keep(self, offsets: dict[str, int]) -> None:
        pass


class KeepsAll(Filed):
    """Writes the queues that were not named, too."""

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        await super().persist(self.memory.keys())


class Overwriting(Filed):
    """Writes what is in memory in place of all that was kept."""

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        self.keep({str(each): self.memory[each] for each in queues})


class KeepsLargest(Filed):
    """Loses a reset on the way to the disk."""

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        kept = self.kept()
        self.keep(kept | {str(each): max(self.memory[each], kept.get(str(each), 0)) for each in queues})


class Clearing(Filed):
    """Forgets all queues that are not named."""

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        await super().persist(queues)
        self.memory = {each: self.memory[each] for each in queues}


class Erasing(Filed):
    """Forgets the durable copy as well."""

    def forget(self, queue: MessageQueue) -> None:
        super().forget(queue)
        self.keep({name: offset for name, offset in self.kept().items() if name != str(queue)})


class Clinging(Filed):
    """Forgets nothing."""

    def forget(self, queue: MessageQueue) -> None:
        pass


class Narrow(Filed):
    """Keeps offsets as doubles."""

    def keep(self, offsets: dict[str, int]) -> None:
        super().keep({name: int(float(offset)) for name, offset in offsets.items()})


FAULTS: dict[str, list[type[Filed]]] = {
    "test_an_unknown_queue_has_no_offset": [FromZero],
    "test_update_is_seen_in_memory_at_once": [GrowingOnly, GoingBack],
    "test_snapshot_has_the_queues_of_the_topic": [ShowsAll],
    "test_nothing_is_durable_before_persist": [Eager],
    "test_what_was_persisted_is_there_for_the_next": [InMemory, KeepsAll],
    "test_persist_keeps_what_others_persisted_before": [Overwriting],
    "test_persist_moves_on_and_back": [KeepsLargest],
    "test_persist_without_queues_changes_nothing": [Clearing],
    "test_forget_drops_memory_only": [Erasing, Clinging],
    "test_large_offsets_survive": [Narrow],
}
CHECKS = [name for name in vars(OffsetStoreConformance) if name.startswith("test_")]


class TestFaultyOffsetStore(OffsetStoreConformance):
    """The suite's own fixture readies each check, with the loop in either thread; here it is to fail."""

    faulty: type[Filed]

    def make(self, context: OffsetStoreContext) -> OffsetStore:
        return self.faulty(context)

    def is_caught_by(self, check: str) -> None:
        for self.faulty in FAULTS[check]:
            with pytest.raises(AssertionError):
                getattr(OffsetStoreConformance, check)(self)


def _caught(check: str) -> Any:
    return lambda self: self.is_caught_by(check)


for _check in CHECKS:
    setattr(TestFaultyOffsetStore, _check, _caught(_check))


def test_every_check_has_a_fault_to_catch() -> None:
    assert set(FAULTS) == set(CHECKS)


async def _commits() -> list[int | None]:
    wire, queue = MemoryWire(), MessageQueue("orders", "broker-a", 0)
    seen = [await wire.query(queue)]
    for offset in (5, 3):
        await wire.commit(queue, offset)
        seen.append(await wire.query(queue))
    return seen


async def test_the_wire_in_memory_keeps_the_last_offset_of_a_queue() -> None:
    assert await _commits() == [None, 5, 3]
