"""What the broker saves of schedules: definitions at once, what was sent from time to time."""

from __future__ import annotations

from collections.abc import Callable

from mqframe_schedules.bodies import ScheduleTable, SentTable
from mqframe_schedules.timetable import Timetable


class Definitions:
    """The definitions.

    Until the service has started, which calls `take`, they are what was saved: a broker saves its tables once
    more before that.
    """

    def __init__(self, timetable: Timetable) -> None:
        self._timetable = timetable
        self.changes = 0
        self._loaded: ScheduleTable | None = None

    def dump(self) -> ScheduleTable:
        """Everything, as a body."""
        return self._loaded or self._timetable.definitions()

    def load(self, table: ScheduleTable) -> None:
        """Keep what was saved for the start."""
        self._loaded = table

    def take(self) -> ScheduleTable:
        """What was saved; from now on the timetable is what is."""
        loaded, self._loaded = self._loaded, None
        return loaded or ScheduleTable()


class Messages:
    """What was sent last, until the start what was saved of it. `log_end`: says where the log ends now."""

    def __init__(self, timetable: Timetable, log_end: Callable[[], int]) -> None:
        self._timetable = timetable
        self._log_end = log_end
        self._saved_end = -1
        self.changes = 0
        self._loaded: SentTable | None = None

    def dump(self) -> SentTable:
        """Everything, as a body."""
        if self._loaded is not None:
            return self._loaded
        self._saved_end = self._log_end()
        return self._timetable.messages(self._saved_end)

    def load(self, table: SentTable) -> None:
        """Keep what was saved for the start."""
        self._loaded = table

    def take(self) -> SentTable:
        """What was saved; from now on the timetable is what is."""
        loaded, self._loaded = self._loaded, None
        return loaded or SentTable()

    def note_log_end(self) -> None:
        """Have the end of the log saved where it moved, so that a start has less to read."""
        if len(self._timetable) and self._log_end() != self._saved_end:
            self.changes += 1
