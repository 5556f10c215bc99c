"""What a start found in the log and consumers may not see yet: taken off queues and index for now."""

from __future__ import annotations

from collections.abc import Iterator

from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.store.appending.appender import Placed, placed
from mqframe.store.message_files import MessageFiles
from mqframe.store.queues.consume_queue import FILLER_SIZE, ConsumeQueue, behind


def hold_back(files: MessageFiles, confirmed: int) -> list[Placed]:
    """Take off queues and index what ends behind log offset `confirmed`; these records, in their order.

    They are to be dispatched once they are confirmed. The offsets that they have in their queues stay theirs:
    what is stored next goes behind them. Raises OSError.
    """
    log, queues, index, _ = files
    ends = {queue: _end_within(queue, confirmed) for queue in queues if queue.covered > confirmed}
    if not ends:
        return []
    firsts = [entry for queue, end in ends.items() if (entry := _first_from(queue, end)) is not None]
    start = min([place for place, _, _ in firsts], default=log.end)
    for queue, end in ends.items():
        next_offset = queue.next_offset
        queue.cut(end, behind(queue.entry(end - 1)) if end else 0)
        queue.next_offset, queue.loaded = next_offset, min(queue.loaded, end)
        queues.dirty.add(queue)
    if index is not None:
        index.rewind(start)
    return [_placed(files, record) for record in _records(files, start)]


def _end_within(queue: ConsumeQueue, confirmed: int) -> int:
    """Offset behind the last entry of a record that ends at or before `confirmed`."""
    end = queue.end
    while end:
        entry = queue.entry(end - 1)
        if entry is not None and entry[1] != FILLER_SIZE and behind(entry) <= confirmed:
            break
        end -= 1
    return end


def _first_from(queue: ConsumeQueue, offset: int) -> tuple[int, int, int] | None:
    """The first entry of a record from queue `offset` on."""
    for number in range(offset, queue.end):
        entry = queue.entry(number)
        if entry is not None and entry[1] != FILLER_SIZE:
            return entry
    return None


def _records(files: MessageFiles, start: int) -> Iterator[LogRecord]:
    log, at = files.log, start
    while at < log.end:
        file = log.file_at(at)
        record = None if file is None else read_record(file.view, at - file.base, at, crc=False)
        if record is None:  # the blank end of a file
            at += log.file_bytes - at % log.file_bytes
        else:
            yield record
            at = record.end


def _placed(files: MessageFiles, record: LogRecord) -> Placed:
    queue = None
    if record.has_queue_entry and not files.queues.deleted.owns(record):
        queue = files.queues.queue(record.topic, record.queue_id)
    return placed(record, queue)
