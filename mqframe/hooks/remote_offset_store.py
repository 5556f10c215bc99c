"""Offsets kept by the broker (RemoteBrokerOffsetStore.java); members of a group share them."""

from __future__ import annotations

from collections.abc import Collection

from mqframe.core.errors import ConnectError, ConnectionLost, MqframeError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import MemoryOffsetStore, OffsetStoreContext
from mqframe.log import get_logger

_log = get_logger("offsetstore")


class RemoteOffsetStore(MemoryOffsetStore):
    """Asks the broker for what it does not know, tells the broker on `persist`."""

    def __init__(self, context: OffsetStoreContext) -> None:
        super().__init__()
        self._wire = context.wire
        self._group = context.group

    async def read_stored(self, queue: MessageQueue) -> int | None:
        """The broker's offset. Raises a `RetryError` when no broker answers."""
        return await self._wire.query(queue)

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        """Tell the brokers the offsets of `queues`, and drop the others from memory.

        A broker that cannot be told is logged and passed over; the next call tells it again.
        """
        if not queues:
            return
        for queue, offset in list(self.offsets.items()):
            if queue not in queues:
                self.offsets.pop(queue, None)
                continue
            try:
                await self._wire.commit(queue, offset)
            except (ConnectError, ConnectionLost) as problem:  # whoever pulls of the broker warns of it
                _log.info("offset not committed", group=self._group, queue=queue, problem=str(problem))
            except MqframeError as problem:
                _log.warning("offset not committed", group=self._group, queue=queue, problem=str(problem))
