"""Reading stored messages, as services of a broker do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.record import decode_record, decode_records
from mqframe.store.message_store import MessageStore

_SLICE_RECORDS: Final = 64
"""Read before other work of the loop gets its turn."""


class LogReader:
    """Reads the queues and the log of one store; a `MessageReader`."""

    __slots__ = ("_broker_name", "_store", "offset_at", "queue_max", "queue_min", "when_confirmed")

    def __init__(self, store: MessageStore, broker_name: str) -> None:
        self._store = store
        self._broker_name = broker_name
        self.queue_min: Callable[[str, int], int] = store.queues.min_offset
        self.queue_max: Callable[[str, int], int] = store.queues.max_offset
        self.offset_at: Callable[[str, int, int], int] = store.queues.offset_at
        self.when_confirmed: Callable[[int, Callable[[bool], object]], None] = store.confirming.when_confirmed

    @property
    def min_offset(self) -> int:
        """Oldest log offset that is kept."""
        return self._store.log.min_offset

    @property
    def max_offset(self) -> int:
        """Log offset where the next record goes."""
        return self._store.log.max_offset

    async def read(self, topic: str, queue_id: int, offset: int, count: int) -> list[ReceivedMessage]:
        """Up to `count` messages of a queue from `offset` on."""
        found = self._store.reads.get_now(topic, queue_id, offset, count)
        if found is None:
            found = await self._store.reads.get_cold(topic, queue_id, offset, count)
        return [message for part in found.parts for message in decode_records(part, self._broker_name)]

    async def records_from(self, log_offset: int) -> AsyncIterator[ReceivedMessage]:
        """All messages of the log from a record's start on, up to the end that it has now."""
        store, file_bytes = self._store, self._store.settings.commit_log_file_bytes
        at, end, count = max(log_offset, store.log.min_offset), store.log.max_offset, 0
        while at < end:
            record = store.search.record_at(at, unconfirmed=True)
            if record is None:  # the blank end of a file
                at += file_bytes - at % file_bytes
                continue
            yield decode_record(record, 0, self._broker_name)
            at += len(record)
            count += 1
            if count % _SLICE_RECORDS == 0:
                await asyncio.sleep(0)
