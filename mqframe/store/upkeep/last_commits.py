"""The committed transactional messages that a log ends with: what has to follow them may be missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from mqframe.core.codes import SysFlag
from mqframe.core.storage.log_scan import LogRecord, read_record, scan_parts
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.queue_table import QueueTable

COMMITS_MAX: Final = 1 << 15


class LastCommits:
    """Takes the records of a log from some offset on, in order; `offsets` are those of the run at its end.

    Of a longer run than `COMMITS_MAX` its last part.
    """

    def __init__(self) -> None:
        self._run: deque[int] = deque(maxlen=COMMITS_MAX)
        self._began = False

    def take(self, records: Sequence[LogRecord]) -> None:
        """The next records, in order."""
        first = len(records)
        while first and _is_commit(records[first - 1]):
            first -= 1
        if first:
            self._began = True
            self._run.clear()
        self._run.extend(record.physical_offset for record in records[first:])

    def offsets(self, log: CommitLog, queues: QueueTable, start: int) -> tuple[int, ...]:
        """The log offsets. `start`: where the first record was taken; the run may begin before it."""
        if self._began:
            return tuple(self._run)
        file = next((each for each in reversed(log.files) if each.base < start), None)
        if file is None or file.base + file.size < start or not (self._run or _is_before(log, queues, start)):
            return tuple(self._run)
        earlier = LastCommits()
        for records in scan_parts(file.view, file.base, 0, start - file.base, crc=False):
            earlier.take(records)
        return tuple(deque([*earlier._run, *self._run], COMMITS_MAX))


def _is_commit(record: LogRecord) -> bool:
    return record.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_COMMIT


def _is_before(log: CommitLog, queues: QueueTable, start: int) -> bool:
    """Whether the record that ends at log offset `start` is a committed one, as far as queues list it."""
    for queue in queues:
        entry = queue.entry(queue.end - 1) if queue.covered == start and queue.end else None
        file = None if entry is None else log.file_at(entry[0])
        if entry is not None and file is not None:
            record = read_record(file.view, entry[0] - file.base, entry[0], crc=False)
            return record is not None and _is_commit(record)
    return False
