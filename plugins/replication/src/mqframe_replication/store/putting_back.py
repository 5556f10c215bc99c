"""Stretches that were taken out of a copied log, put back from the log that it is a copy of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from mqframe.core.errors import StoreError
from mqframe.core.storage.dispatch_facts import queue_code
from mqframe.core.storage.log_scan import LogRecord, is_blank, read_records
from mqframe.log import get_logger
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE
from mqframe.store.queues.queue_table import QueueTable
from mqframe.store.upkeep.quarantine import Quarantine, QuarantineReport

log: Final = get_logger("store")


class PuttingBack:
    """Writes what belongs into stretches of one log, and into its queues. `levels`: delays, ms."""

    def __init__(
        self,
        commit_log: CommitLog,
        queues: QueueTable,
        quarantine: Quarantine,
        levels: tuple[int, ...],
        now_ms: Callable[[], int],
    ) -> None:
        self._log = commit_log
        self._queues = queues
        self._quarantine = quarantine
        self._levels = levels
        self._now_ms = now_ms

    def is_missing(self, report: QuarantineReport) -> bool:
        """Whether the log still lacks what `report` is about."""
        return not report.fetched_ms and self._log.start <= report.start and report.end <= self._log.end

    def put_back(self, report: QuarantineReport, data: bytes) -> QuarantineReport:
        """Write `data`, all of the stretch, and list its messages; all is on disk then. The new report.

        A crash in between leaves the stretch missing as before. Keys are not entered into the index: that
        goes by time. Raises `StoreError` for what is not whole records; then nothing is changed. OSError.
        """
        file = self._log.file_at(report.start)
        if file is None or len(data) != report.end - report.start:
            raise StoreError(
                f"log offsets {report.start} to {report.end} are not {len(data)} bytes of a file"
            )
        records = _whole_records(data, report.start, file.base + file.size)
        file.write(report.start - file.base, data)
        file.sync()
        listed = sum(self._list(record) for record in records)
        done = msgspec.structs.replace(report, fetched_ms=self._now_ms())
        self._quarantine.report(done)
        log.info(
            "a part of the log that was set aside was fetched again",
            start=report.start, end=report.end, records=len(records), listed=listed,
        )  # fmt: skip
        return done

    def _list(self, record: LogRecord) -> bool:
        """Enter `record` where its queue has a filler, or ends; whether it was."""
        if not record.has_queue_entry or self._queues.deleted.owns(record):
            return False
        queue = self._queues.queue(record.topic, record.queue_id)
        there = queue.entry(record.queue_offset)
        if there is not None and there[1] != FILLER_SIZE:
            return False  # of a topic that was made anew since
        code = queue_code(record.topic, record.properties, record.store_timestamp, self._levels)
        entry = ENTRY.pack(record.physical_offset, record.size, code)
        queue.enter(record.queue_offset, entry, record.end)
        self._queues.dirty.add(queue)
        return True


def _whole_records(data: bytes, start: int, file_end: int) -> list[LogRecord]:
    """The records that `data` from log offset `start` on consists of, but for the blank end of a file."""
    records: list[LogRecord] = []
    at = 0
    while at < len(data):
        some = read_records(data, at, start)
        if some:
            records += some
            at = some[-1].end - start
        elif is_blank(data, at) and start + len(data) == file_end:
            break
        else:
            raise StoreError(
                f"what the master has from log offset {start} to {start + len(data)}, where this log was"
                f" damaged, is no sound record at {start + at}: start this broker with an empty store, or"
                " mend the log of the master"
            )
    return records
