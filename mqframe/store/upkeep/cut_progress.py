"""Progress that is saved beside a log, put back to where it was before the log's end that is cut off."""

from __future__ import annotations

import json
from bisect import bisect_left
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.delay.schedule import DelayOffsetTable
from mqframe.core.errors import BodyError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import (
    HALF_TOPIC,
    OP_HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    pop_retry_topic,
)
from mqframe.core.messages.properties import FIRST_POP_TIME, TAGS, UNIQUE_KEY, find_property
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.popping.bodies import CheckPointBody
from mqframe.core.storage.cut_tail import CutTail
from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.core.storage.record import decode_record
from mqframe.core.transactions.rules import CHECK_GROUP, parse_op
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.files.log_file import LogFile
from mqframe.store.files.syncing import sync_directory
from mqframe.store.log.closed_log import ClosedLog
from mqframe.store.queues.consume_queue import ENTRY
from mqframe.store.timer.checkpoint import TimerCheckpoint

B = TypeVar("B", bound=Body)
_REVIVE_LOG: Final = "rmq_sys_REVIVE_LOG_"
_SKEW_MS: Final = 86_400_000
"""So far the clock of a sender may be ahead of the broker's."""


class Progress(msgspec.Struct, frozen=True):
    """Where whatever counted on a tail stands without it: rather earlier than right, so that messages come
    twice, never not at all.

    `groups`: key in consumerOffset.json, queue id, offset; `levels`: queue offsets by delay level; `timer`:
    time (ms) up to which all is delivered, and up to which offset its topic was taken in; `None`: as it is.
    """

    groups: list[tuple[str, int, int]] = []
    levels: dict[int, int] = {}
    timer: tuple[int, int] | None = None


def note_progress(tail: CutTail, record: LogRecord, file: LogFile) -> None:
    """Have `tail` know what the body of `record`, which lies in `file`, says of progress, if it does."""
    if record.topic == OP_HALF_TOPIC:
        tail.ended(parse_op(_body(record, file)))
    elif record.topic.startswith(_REVIVE_LOG) and find_property(record.properties, TAGS) == "ck":
        try:
            point = decode(_body(record, file), CheckPointBody)
        except BodyError:
            return  # no broker takes it for one either
        if point.topic and point.group:
            tail.popped(point.topic, point.group, point.queue_id, point.start_offset)
    elif record.topic.startswith(RETRY_PREFIX):
        popped = whole_number(find_property(record.properties, FIRST_POP_TIME) or "")
        if popped is not None:
            unique = find_property(record.properties, UNIQUE_KEY)
            tail.gave_back(record.topic, popped, unique, _message(record, file).born_timestamp)


def _body(record: LogRecord, file: LogFile) -> bytes:
    return _message(record, file).stored_body


def _message(record: LogRecord, file: LogFile) -> ReceivedMessage:
    return decode_record(file.view, record.physical_offset - file.base)


def progress_before(layout: Layout, tail: CutTail, log: ClosedLog) -> Progress:
    """Where the progress of the stopped store at `layout` is to stand without `tail`.

    Raises `StoreError` for a file that cannot be read; OSError.
    """
    table = _loaded(layout.config / "consumerOffset.json", ConsumerOffsetTable)
    groups = [] if table is None else _groups(layout, tail, log, table)
    return Progress(groups, _levels(layout, tail), _timer(layout, tail))


def _groups(
    layout: Layout, tail: CutTail, log: ClosedLog, table: ConsumerOffsetTable
) -> list[tuple[str, int, int]]:
    bounds = dict(tail.pops)
    if tail.halves is not None:
        # Ends are noted behind the halves: those of the halves that are open again are to be read once more.
        bounds |= {(f"{HALF_TOPIC}@{CHECK_GROUP}", 0): tail.halves, (f"{OP_HALF_TOPIC}@{CHECK_GROUP}", 0): 0}
    found = []
    for key, queues in table.offset_table.items():
        topic = key.partition("@")[0]
        for queue_id, offset in queues.items():
            first = tail.first(topic, queue_id)
            back = min(offset, bounds.get((key, queue_id), offset), offset if first is None else first)
            wanted = _given_back(tail, key) if tail.given_back else {}
            if wanted:
                back = _first_of(layout, log, (topic, queue_id, back), wanted)
            if topic.startswith(_REVIVE_LOG):
                back = _before_pops(layout, tail, log, (topic, queue_id, offset))
            if back < offset:
                found.append((key, queue_id, back))
    return found


def _before_pops(layout: Layout, tail: CutTail, log: ClosedLog, place: tuple[str, int, int]) -> int:
    """The last record of a revive log's queue that is done with; `place`: topic, queue, what was so before.

    What was given back in the tail is popped still: its check point, which is not older, counts again.
    """
    topic, queue_id, last = place
    first = tail.first(topic, queue_id)
    end = last + 1 if first is None else min(last + 1, first)
    if tail.popped_ms is not None:
        end = _first_since(layout, log, (topic, queue_id, end), tail.popped_ms)
    return end - 1


def _first_since(layout: Layout, log: ClosedLog, place: tuple[str, int, int], time: int) -> int:
    """The first offset of a queue, before that in `place`, whose record is of `time`, ms, or later."""
    queue = _QueueRecords(layout, log, place[0], place[1])

    def stored(offset: int) -> int:
        record = queue.record(offset)
        return 0 if record is None else record.store_timestamp  # it is deleted, or was never there

    return bisect_left(range(place[2]), time, key=stored)


def _given_back(tail: CutTail, key: str) -> dict[str, int]:
    """What was popped by a group from a topic, both named by `key`, and is given back in the tail."""
    topic, _, group = key.partition("@")
    retries = {topic, *(pop_retry_topic(topic, group, v2=v2) for v2 in (False, True))}
    return {unique: born for name in retries for unique, born in tail.given_back.get(name, {}).items()}


def _first_of(layout: Layout, log: ClosedLog, place: tuple[str, int, int], wanted: dict[str, int]) -> int:
    """The first offset of a queue, before that in `place`, of a message that is `wanted`; else that itself.

    Check points that nobody waited for long are in memory alone: the message itself has to be popped again.
    """
    queue, oldest = _QueueRecords(layout, log, place[0], place[1]), min(wanted.values()) - _SKEW_MS
    found, left = place[2], set(wanted)
    for offset in range(place[2] - 1, -1, -1):
        record = queue.record(offset)
        if not left or record is None or record.store_timestamp < oldest:
            break
        unique = find_property(record.properties, UNIQUE_KEY)
        if unique in left:
            left.discard(unique)
            found = offset
    return found


class _QueueRecords:
    """The records that a queue of a stopped store lists."""

    def __init__(self, layout: Layout, log: ClosedLog, topic: str, queue_id: int) -> None:
        self._log = log
        self._files = [each for each in sized_files(layout.queues / topic / str(queue_id)) if each[2]]

    def record(self, offset: int) -> LogRecord | None:
        """That at queue `offset`; `None` where it is deleted, or was never there."""
        for base, path, size in self._files:
            at = offset * ENTRY.size - base
            if 0 <= at < size:
                with path.open("rb") as file:
                    file.seek(at)
                    physical, length, _ = ENTRY.unpack(file.read(ENTRY.size))
                return read_record(self._log.bytes_at(physical, physical + length), 0, physical, crc=False)
        return None


def _levels(layout: Layout, tail: CutTail) -> dict[int, int]:
    table = _loaded(layout.config / "delayOffset.json", DelayOffsetTable)
    found = {}
    for level, offset in ({} if table is None else table.offset_table).items():
        first = tail.first(SCHEDULE_TOPIC, level - 1)
        back = max(0, offset - tail.delivered.get(level, 0))
        back = back if first is None else min(back, first)
        if back < offset:
            found[level] = back
    return found


def _timer(layout: Layout, tail: CutTail) -> tuple[int, int] | None:
    saved, first = TimerCheckpoint(layout.timer_checkpoint), tail.first(TIMER_TOPIC, 0)
    if not saved.exists or (tail.timer_due is None and first is None):
        return None
    due = saved.read_time if tail.timer_due is None else min(saved.read_time, tail.timer_due)
    taken = max(saved.queue_offset, saved.master_offset)
    return due, taken if first is None else min(taken, first)


def put_back(layout: Layout, progress: Progress, log_end: int) -> None:
    """Save `progress`, for a log that ends at `log_end`; may be repeated. Raises as `progress_before`."""
    _change(layout.config / "consumerOffset.json", ConsumerOffsetTable, progress.groups)
    levels = [("", level, offset) for level, offset in progress.levels.items()]
    _change(layout.config / "delayOffset.json", DelayOffsetTable, levels)
    _cut_cursors(layout.cursors, log_end)
    if progress.timer is not None:
        _empty_timer(layout, *progress.timer)


def _loaded(path: Path, kind: type[B]) -> B | None:
    return ConfigFile(path).load(lambda raw: decode(raw, kind))


def _change(path: Path, kind: type[Body], changes: list[tuple[str, int, int]]) -> None:
    """Save smaller offsets: by key and number, or where keys are empty by number."""
    table: Any = _loaded(path, kind) if changes else None
    if table is None:
        return
    for key, number, offset in changes:
        numbers = table.offset_table[key] if key else table.offset_table
        numbers[number] = min(offset, numbers[number])
    ConfigFile(path).save(dumps(table))


def _cut_cursors(path: Path, log_end: int) -> None:
    """Following dispatchers go on at the log's end, where they were behind it."""
    table: dict[str, int] | None = ConfigFile(path).load(lambda raw: json.loads(raw)["offsetTable"])
    if table and max(table.values()) > log_end:
        changed = {name: min(int(offset), log_end) for name, offset in table.items()}
        ConfigFile(path).save(json.dumps({"offsetTable": changed}, indent="\t").encode())


def _empty_timer(layout: Layout, read_time: int, taken: int) -> None:
    """Have the timer take in its topic again: what its log says of the tail is not to be told apart."""
    checkpoint = TimerCheckpoint(layout.timer_checkpoint)
    # On disk first: what an interruption leaves of the files must not count as whole.
    checkpoint.advance(min(read_time, checkpoint.read_time), 0, 0, checkpoint.timestamp)
    checkpoint.master_offset = taken
    checkpoint.save(checkpoint.encode())
    for path in layout.timer_log.glob("*") if layout.timer_log.is_dir() else ():
        path.unlink()
    layout.timer_wheel.unlink(missing_ok=True)
    if layout.timer_log.is_dir():
        sync_directory(layout.timer_log)
    sync_directory(layout.root)
