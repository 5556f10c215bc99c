"""All schedules of a broker: which message is to be sent next, and which were sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from mqframe_schedules.bodies import Schedule, ScheduleTable, Sent, SentTable
from mqframe_schedules.missed import Times, next_time

_SENT_KEPT: Final = 64
"""So many last messages of a schedule are known with their place: the log may end earlier after a crash."""


class Entry:
    """A schedule with its times. `sent`: its last messages, the latest last; `problem`: why one waits."""

    __slots__ = ("definition", "problem", "sent", "times", "turns", "upcoming_ms")

    def __init__(self, definition: Schedule, times: Times) -> None:
        self.definition = definition
        self.times = times
        self.sent: deque[Sent] = deque(maxlen=_SENT_KEPT)
        self.problem = ""
        self.turns = 0
        self.upcoming_ms: int | None = None

    @property
    def settled_ms(self) -> int:
        """Nothing planned at or before this is sent any more."""
        since = self.definition.since_ms
        return max(since, self.sent[-1].planned_ms) if self.sent else since

    @property
    def last_ms(self) -> int | None:
        """The planned time of the latest message; `None` before the first."""
        return self.sent[-1].planned_ms if self.sent else None


class Firing(NamedTuple):
    """A message that a schedule wants to be sent."""

    entry: Entry
    planned_ms: int


class Timetable:
    """Decides, and is told what was done: `next` says what to send, `sent` that it lies in the log.

    A message that was sent is never due again, whatever the clock says. `grace_ms`: how late a time may be
    kept before it counts as missed.
    """

    def __init__(self, grace_ms: int) -> None:
        self._grace_ms = grace_ms
        self._entries: dict[str, Entry] = {}
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(sorted(self._entries.values(), key=lambda entry: entry.definition.name))

    def find(self, name: str) -> Entry | None:
        """The schedule `name`."""
        return self._entries.get(name)

    def create(self, schedule: Schedule, times: Times, now_ms: int, log_end: int) -> Entry:
        """Add a new schedule, which gets its number and begins now. Its name must be free."""
        self._last_number += 1
        schedule.number, schedule.since_ms, schedule.paused = self._last_number, now_ms, False
        schedule.since_offset = log_end
        return self._add(schedule, times)

    def pause(self, entry: Entry) -> None:
        """Send nothing for `entry`."""
        entry.definition.paused = True

    def resume(self, entry: Entry, now_ms: int) -> None:
        """Send for `entry` again what is planned from now on; what was not sent meanwhile is not missed."""
        if entry.definition.paused:
            entry.definition.paused = False
            entry.definition.since_ms = max(entry.definition.since_ms, now_ms)
            entry.upcoming_ms = None

    def remove(self, entry: Entry) -> None:
        """Forget `entry`."""
        del self._entries[entry.definition.name]

    def next(self, now_ms: int, without: Collection[str] = ()) -> Firing | None:
        """The message that is planned first, due when its time is not after `now_ms`; `None`: there is none.

        `without`: names of schedules that are left out.
        """
        first: Firing | None = None
        for name, entry in self._entries.items():
            time = None if name in without else self.upcoming(entry, now_ms)
            if time is not None and (first is None or time < first.planned_ms):
                first = Firing(entry, time)
        return first

    def upcoming(self, entry: Entry, now_ms: int) -> int | None:
        """The time that `entry` is to send for next; `None` while it is paused."""
        if entry.definition.paused:
            return None
        if entry.upcoming_ms is None or entry.upcoming_ms <= now_ms:
            entry.upcoming_ms = next_time(
                entry.times, entry.settled_ms, now_ms, entry.definition.missed, self._grace_ms
            )
        return entry.upcoming_ms

    def sent(self, number: int, planned_ms: int, end_offset: int) -> None:
        """A message of the schedule `number` lies in the log before `end_offset`.

        Of a schedule that is gone, and of a time that was noted, nothing is: the log may be read twice.
        """
        for entry in self._entries.values():
            if entry.definition.number == number and (
                not entry.sent or planned_ms > entry.sent[-1].planned_ms
            ):
                entry.sent.append(Sent(planned_ms, end_offset))
                entry.turns += 1
                entry.problem = ""
                entry.upcoming_ms = None

    def definitions(self) -> ScheduleTable:
        """The definitions, to be saved."""
        return ScheduleTable(last_number=self._last_number, schedules=[entry.definition for entry in self])

    def load(self, last_number: int, schedules: list[tuple[Schedule, Times]]) -> None:
        """Take over what was saved."""
        self._last_number = last_number
        for schedule, times in schedules:
            self._add(schedule, times)

    def messages(self, log_end: int) -> SentTable:
        """What was sent, to be saved; `log_end`: where the log ends now."""
        sent = {str(e.definition.number): list(e.sent) for e in self._entries.values() if e.sent}
        return SentTable(scan_from=log_end, sent=sent)

    def load_messages(self, table: SentTable, log_end: int) -> int:
        """Take over what was sent; from where the log has to be read for the rest.

        Messages behind `log_end` were lost with the end of the log. Without schedules nothing has to be read.
        """
        for entry in self._entries.values():
            for message in table.sent.get(str(entry.definition.number), []):
                if message.end_offset <= log_end:
                    entry.sent.append(message)
        born = min([entry.definition.since_offset for entry in self._entries.values()], default=log_end)
        return min(max(table.scan_from, born), log_end)

    def _add(self, schedule: Schedule, times: Times) -> Entry:
        entry = self._entries[schedule.name] = Entry(schedule, times)
        return entry
