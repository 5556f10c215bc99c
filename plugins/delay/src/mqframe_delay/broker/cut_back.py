"""The timer of a store whose log is cut: it takes its topic in again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC, WAITING_TOPICS
from mqframe.core.messages.whole_numbers import stated_number
from mqframe.core.storage.log_scan import LogRecord
from mqframe.hooks.interfaces import CutBack, FileChange, StoppedStore
from mqframe_delay.store.checkpoint import TimerCheckpoint

_CHECKPOINT: Final = "config/timercheck"
_PAGE_BYTES: Final = 4096
"""The size of that file."""


class TimerCutBack(CutBack):
    """Sets the timer back to the earliest time for which it delivered a message that is cut off."""

    def __init__(self) -> None:
        self._due: int | None = None

    def take(self, record: LogRecord, message: Callable[[], ReceivedMessage]) -> None:
        """Note for which time the timer delivered a record."""
        if record.topic in WAITING_TOPICS or p.find_property(record.properties, p.TIMER_DEQUEUE_MS) is None:
            return
        due = stated_number(record.properties, p.TIMER_OUT_MS)
        if due is not None:
            self._due = due if self._due is None else min(self._due, due)

    def files(self, store: StoppedStore) -> Sequence[FileChange]:
        """Its checkpoint, and neither log nor wheel: what they say of the tail is not to be told apart."""
        saved, first = TimerCheckpoint(store.directory / _CHECKPOINT), store.first_cut(TIMER_TOPIC, 0)
        if not saved.exists or (self._due is None and first is None):
            return ()
        due = saved.read_time if self._due is None else min(saved.read_time, self._due)
        taken = max(saved.queue_offset, saved.master_offset)
        saved.advance(due, 0, 0, saved.timestamp)
        saved.master_offset = taken if first is None else min(taken, first)
        # The checkpoint first: what an interruption leaves of the files must not count as whole.
        return (
            FileChange(_CHECKPOINT, saved.encode().ljust(_PAGE_BYTES, b"\0")),
            FileChange("timerlog"),
            FileChange("timerwheel"),
        )
