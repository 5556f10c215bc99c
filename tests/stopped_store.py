"""A store whose log is about to be cut, as what services keep beside it sees it: written down by tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.storage.log_scan import LogRecord
from mqframe.hooks.interfaces import CutBack


class StoppedStoreOnPaper:
    """`first`: first queue offset that is cut off, by topic and queue; `records`: what queues list, from
    queue offset 0 on; `tables`: bodies by file name.
    """

    def __init__(
        self,
        directory: Path = Path("/nowhere"),
        *,
        first: dict[tuple[str, int], int] | None = None,
        records: dict[tuple[str, int], list[LogRecord]] | None = None,
        tables: dict[str, Any] | None = None,
    ) -> None:
        self.directory = directory
        self._first = first or {}
        self._records = records or {}
        self._tables = tables or {}

    def first_cut(self, topic: str, queue_id: int) -> int | None:
        return self._first.get((topic, queue_id))

    def record(self, topic: str, queue_id: int, offset: int) -> LogRecord | None:
        return dict(enumerate(self._records.get((topic, queue_id), []))).get(offset)

    def table(self, name: str, body: Any) -> Any:
        found = self._tables.get(name)
        return None if found is None else msgspec.convert(found, body, strict=False)


def cut_record(topic: str, properties: str = "", stored_ms: int = 0) -> LogRecord:
    """A record of `topic`."""
    return LogRecord(0, 100, topic, 0, 0, 0, stored_ms, properties)


def shown(service: CutBack, records: Iterable[tuple[LogRecord, bytes]]) -> None:
    """Have `service` see `records` with their bodies; each was born when it was stored."""
    for record, body in records:
        service.take(record, lambda record=record, body=body: whole(record, body))


def whole(record: LogRecord, body: bytes) -> ReceivedMessage:
    """The message in `record`."""
    return ReceivedMessage(
        topic=record.topic, queue_id=0, queue_offset=0, commit_log_offset=0, store_size=100,
        born_timestamp=record.store_timestamp, store_timestamp=record.store_timestamp, born_host=b"",
        store_host=b"", reconsume_times=0, sys_flag=0, body_crc=0, flag=0, prepared_transaction_offset=0,
        stored_body=body, raw_properties=record.properties.encode(),
    )  # fmt: skip
