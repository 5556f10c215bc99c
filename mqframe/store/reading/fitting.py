"""Whether what was read of the log is what the entries of a queue stand for."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.storage.agreement import LIGHT_PREFIX, Entry, is_of, place_of
from mqframe.core.storage.log_scan import first_unsound
from mqframe.core.storage.record import HEAD
from mqframe.core.wire.frame import Body
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.choosing import Chosen, Fetch, Stretch
from mqframe.store.queues.consume_queue import ENTRY, FILLER_SIZE, ConsumeQueue


class Damaged(Exception):
    """An entry of a queue does not fit its record."""


class Unsound(Exception):
    """A record is damaged. `offset`: where it lies in the log."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def need_sound(stretches: Sequence[Stretch], parts: Sequence[Body]) -> None:
    """Raise `Unsound` unless the CRCs of all records of `parts`, read from `stretches` of the log, agree."""
    for (start, _), part in zip(stretches, parts, strict=True):
        offset = first_unsound(part, start)
        if offset is not None:
            raise Unsound(offset)


def checked(fetch: Fetch, queue: ConsumeQueue) -> Fetch:
    """As `fetch`, but raises `Damaged` for what is no record of `queue`."""

    def record_at(start: int, size: int) -> Body | None:
        record = fetch(start, size)
        if record is not None:
            place = place_of(record, 0)
            if place is None or (place[0], place[1], place[3]) != (size, queue.queue_id, start):
                raise Damaged
        return record

    return record_at


def fit(queue: ConsumeQueue, entries: bytes, offset: int, chosen: Chosen, parts: Sequence[Body]) -> bool:
    """Whether what was read is what `entries`, the first of which is queue `offset`, stand for.

    The last record of each stretch is compared: one that does not follow the one before it, or is not
    followed by the next one, makes a stretch of its own.
    """
    if queue.topic.startswith(LIGHT_PREFIX):
        return True
    if len(parts) != len(chosen.lasts):
        return False
    queue_id, unpack = queue.queue_id, ENTRY.unpack_from
    for (start, _), part, number in zip(chosen.stretches, parts, chosen.lasts, strict=True):
        physical, size, _ = unpack(entries, number * 20)
        if place_of(part, physical - start) != (size, queue_id, offset + number, physical):
            return False
    for number in {0, len(parts) - 1} if parts else ():
        physical = unpack(entries, chosen.lasts[number] * 20)[0]
        if not is_of(parts[number], physical - chosen.stretches[number][0], queue.topic):
            return False
    return True


def all_fit(log: CommitLog, queue: ConsumeQueue, offset: int, entries: Sequence[Entry]) -> bool:
    """Whether each of `entries`, from queue `offset` on, is a filler or names its record in `log`."""
    for number, (physical, size, _) in enumerate(entries):
        if size == FILLER_SIZE and not physical:
            continue
        head = log.slice(physical, HEAD.size) if physical >= 0 else None
        if head is None or place_of(head, 0) != (size, queue.queue_id, offset + number, physical):
            return False
    return True
