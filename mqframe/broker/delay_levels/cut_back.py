"""Deliveries from delay levels that are cut off a log: they are made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.delay.schedule import DelayOffsetTable
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import SCHEDULE_TOPIC, WAITING_TOPICS
from mqframe.core.messages.whole_numbers import stated_number
from mqframe.core.storage.log_scan import LogRecord
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import CutBack, FileChange, StoppedStore

_OFFSETS: Final = "delayOffset.json"


class LevelsCutBack(CutBack):
    """Has each level deliver again what is cut off of it, and what waits there no more."""

    def __init__(self) -> None:
        self._delivered: dict[int, int] = {}

    def take(self, record: LogRecord, message: Callable[[], ReceivedMessage]) -> None:
        """Count what each level delivered."""
        level = None if record.topic in WAITING_TOPICS else stated_number(record.properties, p.DELAY)
        if level is not None and level > 0:
            self._delivered[level] = self._delivered.get(level, 0) + 1

    def files(self, store: StoppedStore) -> Sequence[FileChange]:
        """How far each level has come, without that."""
        table = store.table(_OFFSETS, DelayOffsetTable)
        changed = False
        for level, offset in ({} if table is None else table.offset_table).items():
            first = store.first_cut(SCHEDULE_TOPIC, level - 1)
            back = max(0, offset - self._delivered.get(level, 0))
            back = back if first is None else min(back, first)
            if table is not None and back < offset:
                table.offset_table[level] = back
                changed = True
        return [FileChange(f"config/{_OFFSETS}", dumps(table))] if changed else []
