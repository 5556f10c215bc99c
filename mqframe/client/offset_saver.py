"""Makes offsets durable, one round at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqframe.core.message import MessageQueue
from mqframe.hooks.interfaces import OffsetStore


class OffsetSaver:
    """Persists what `store` remembers. Rounds never overlap, and none is broken off half-way."""

    def __init__(self, store: OffsetStore) -> None:
        self._store = store
        self._saving: asyncio.Task[None] | None = None

    async def save(self, queues: Sequence[MessageQueue]) -> None:
        """Persist the offsets of `queues`. Raises what the store raises."""
        await self.idle()
        self._saving = asyncio.ensure_future(self._store.persist(queues))
        await asyncio.shield(self._saving)

    async def idle(self) -> None:
        """Return once no round is under way."""
        while self._saving is not None and not self._saving.done():
            await asyncio.wait({self._saving})
