"""Offset stores: where a consumer group keeps its progress in each queue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from enum import Enum
from pathlib import Path
from typing import Protocol

import attrs

from mqframe.core.messages.message import MessageQueue


class ReadFrom(Enum):
    """Which copy of an offset is asked for."""

    MEMORY = "memory"
    STORE = "store"
    MEMORY_THEN_STORE = "memory_then_store"


class OffsetWire(Protocol):
    """The broker's offsets, for stores that keep them there."""

    async def query(self, queue: MessageQueue) -> int | None:
        """The offset that the broker holds for the group; `None` when it holds none."""

    async def commit(self, queue: MessageQueue, offset: int) -> None:
        """Tell the broker's master, one-way."""


@attrs.frozen
class OffsetStoreContext:
    """What an offset store is handed when it is made.

    `group`, `client_id`: whose offsets they are, as brokers call them; `wire`: the broker's own offsets;
    `directory`: where local files may lie; `wire_topic`: what brokers call a topic of the client, for files
    that others read.
    """

    group: str
    client_id: str
    wire: OffsetWire
    directory: Path
    wire_topic: Callable[[str], str] = str


class OffsetStore(ABC):
    """Keeps offsets (counts of messages: the next one to consume). Called on the client's loop.

    `update` only touches memory; `persist` makes durable what is there. Blocking work belongs in a thread.
    """

    async def load(self) -> object:  # noqa: B027 - optional
        """Called once, before anything else; what it returns is for the store's own use."""

    @abstractmethod
    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Remember `offset`; with `increase_only` never a smaller one than is remembered."""

    @abstractmethod
    async def read(self, queue: MessageQueue, source: ReadFrom) -> int | None:
        """The offset of `queue`; `None` where none is known. Raises `RetryError` when it cannot be read."""

    @abstractmethod
    async def persist(self, queues: Collection[MessageQueue]) -> None:
        """Make the offsets of `queues` durable; those of other queues may be forgotten."""

    @abstractmethod
    def forget(self, queue: MessageQueue) -> None:
        """Drop `queue` from memory: another member has it now."""

    @abstractmethod
    def snapshot(self, topic: str) -> dict[MessageQueue, int]:
        """What is in memory for `topic`."""

    async def close(self) -> None:  # noqa: B027 - optional
        """Let go of files and connections."""
