"""Offset stores with the offsets in memory: what is left to write is how they are read and kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces.offset_store import OffsetStore, ReadFrom


class MemoryOffsetStore(OffsetStore):
    """Offsets in memory over a store that a subclass reads in `read_stored` and writes in `persist`."""

    def __init__(self) -> None:
        """A store with nothing in memory."""
        self.offsets: dict[MessageQueue, int] = {}

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Remember `offset`; with `increase_only` never a smaller one than is remembered."""
        if not increase_only or offset > self.offsets.get(queue, -1):
            self.offsets[queue] = offset

    async def read(self, queue: MessageQueue, source: ReadFrom) -> int | None:
        """The offset from memory, from the store, or from the store where memory has none.

        What the store gives is remembered. Raises `RetryError` when the store cannot be read.
        """
        if source is not ReadFrom.STORE and queue in self.offsets:
            return self.offsets[queue]
        if source is ReadFrom.MEMORY:
            return None
        stored = await self.read_stored(queue)
        if source is not ReadFrom.STORE and queue in self.offsets:
            return self.offsets[queue]  # it was consumed meanwhile, and is further than the store knows
        if stored is not None:
            self.offsets[queue] = stored
        return stored

    @abstractmethod
    async def read_stored(self, queue: MessageQueue) -> int | None:
        """The durable offset, or `None`. Raises `RetryError` when it cannot be read."""

    def forget(self, queue: MessageQueue) -> None:
        """Drop `queue` from memory."""
        self.offsets.pop(queue, None)

    def snapshot(self, topic: str) -> dict[MessageQueue, int]:
        """What is in memory for `topic`, as a copy."""
        return {queue: offset for queue, offset in self.offsets.items() if queue.topic == topic}


class SavedOffsetStore(MemoryOffsetStore):
    """An offset store that needs only `load` and `save`.

    Both are called on the client's loop: what blocks belongs in a thread (`asyncio.to_thread`). They raise
    `RetryError` for what may work later.
    """

    @abstractmethod
    async def load(self) -> Mapping[MessageQueue, int]:
        """All offsets of the group that are kept; asked for at the start and for each queue that comes."""

    @abstractmethod
    async def save(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Keep `offsets` durably; those of other queues stay as they are."""

    async def read_stored(self, queue: MessageQueue) -> int | None:
        """The offset that `load` gives."""
        return (await self.load()).get(queue)

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        """Save what is in memory of `queues`."""
        offsets = {queue: offset for queue, offset in self.offsets.items() if queue in queues}
        if offsets:
            await self.save(offsets)
