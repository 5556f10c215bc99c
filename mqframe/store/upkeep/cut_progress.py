"""Progress that is saved beside a log, put back to where it was before the log's end that is cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.delay.schedule import DelayOffsetTable
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqframe.core.storage.cut_tail import CutTail
from mqframe.core.transactions.rules import CHECK_GROUP
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode, dumps
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout
from mqframe.store.files.syncing import sync_directory
from mqframe.store.timer.checkpoint import TimerCheckpoint

B = TypeVar("B", bound=Body)


class Progress(msgspec.Struct, frozen=True):
    """Where whatever counted on a tail stands without it: rather earlier than right, so that messages come
    twice, never not at all.

    `groups`: key in consumerOffset.json, queue id, offset; `levels`: queue offsets by delay level; `timer`:
    time (ms) up to which all is delivered, and up to which offset its topic was taken in; `None`: as it is.
    """

    groups: list[tuple[str, int, int]] = []
    levels: dict[int, int] = {}
    timer: tuple[int, int] | None = None


def progress_before(layout: Layout, tail: CutTail) -> Progress:
    """Where the progress of the stopped store at `layout` is to stand without `tail`.

    Raises `StoreError` for a file that cannot be read; OSError.
    """
    return Progress(_groups(layout, tail), _levels(layout, tail), _timer(layout, tail))


def _groups(layout: Layout, tail: CutTail) -> list[tuple[str, int, int]]:
    table = _loaded(layout.config / "consumerOffset.json", ConsumerOffsetTable)
    if table is None:
        return []
    found = []
    for key, queues in table.offset_table.items():
        topic = key.partition("@")[0]
        for queue_id, offset in queues.items():
            first = tail.first(topic, queue_id)
            if first is not None and offset > first:
                found.append((key, queue_id, first))
    if tail.halves is not None:
        # Ends are noted behind the halves: those of the halves that are open again are to be read once more.
        for topic, offset in ((HALF_TOPIC, tail.halves), (OP_HALF_TOPIC, 0)):
            key = f"{topic}@{CHECK_GROUP}"
            if table.offset_table.get(key, {}).get(0, 0) > offset:
                found.append((key, 0, offset))
    return found


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
