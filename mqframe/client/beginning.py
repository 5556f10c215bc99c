"""Where a consumer begins in a queue that it has just been given: its stored offset, or by its rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mqframe.client.offsets import Broker, QueueOffsets
from mqframe.core.consume_rules import ConsumeFrom
from mqframe.core.first_offset import Ask, first_offset
from mqframe.core.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore, ReadFrom


class Beginning:
    """Carries out `core.first_offset`. `begin`: the rule, and the ms since 1970 that ConsumeFrom.TIMESTAMP
    begins at."""

    def __init__(self, instance: Broker, store: OffsetStore, begin: tuple[ConsumeFrom, int]) -> None:
        self._offsets = QueueOffsets(instance)
        self._store = store
        self._where, self._start_ms = begin

    async def offset(self, queue: MessageQueue) -> int:
        """The first offset to pull. What memory held of `queue` is forgotten. Raises what a call raises."""
        self._store.forget(queue)
        stored = await self._store.read(queue, ReadFrom.STORE)
        begin = first_offset(queue.topic, stored, self._where)
        ask: dict[Ask, Callable[[], Any]] = {
            Ask.MAX: lambda: self._offsets.max_offset(queue),
            Ask.MIN: lambda: self._offsets.min_offset(queue),
            Ask.TIME: lambda: self._offsets.offset_at(queue, self._start_ms),
        }
        return int(await ask[begin]()) if isinstance(begin, Ask) else begin
