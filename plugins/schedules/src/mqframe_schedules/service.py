"""The broker service `schedules`: keeps definitions, and sends what is due."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import FixError, Refusal
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import is_closed_topic
from mqframe.core.requests.fields import NoHeader
from mqframe.core.requests.serving import Call, serves
from mqframe.hooks.interfaces import BrokerPort, BrokerService, Periodic, SavedTable
from mqframe.hooks.specs import Factories, hookimpl
from mqframe.log import get_logger
from mqframe.trouble import Troubles
from mqframe_schedules.bodies import Schedule, ScheduleState, ScheduleStates, ScheduleTable, SentTable
from mqframe_schedules.checks import (
    SCHEDULE_NUMBER,
    SCHEDULE_TIME,
    body_bytes,
    check,
    properties_of,
)
from mqframe_schedules.cron import Cron
from mqframe_schedules.missed import Times
from mqframe_schedules.requests import (
    CreateSchedule,
    ListSchedules,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
)
from mqframe_schedules.tables import Definitions, Messages
from mqframe_schedules.timetable import Entry, Firing, Timetable

log = get_logger("schedules")
_SLICE_MESSAGES: Final = 64
"""Sent before other work of the loop gets its turn."""
_RETRY_MS: Final = 1000
_LOG_END_SECONDS: Final = 30.0


@settings("plugins.schedules")
class SchedulesOptions:
    """Limits of schedules."""

    grace_seconds: int = setting(
        60, doc="how late a planned time may be kept before it counts as missed, s", check=at_least(1)
    )
    schedules_max: int = setting(1000, doc="most schedules of a broker", check=at_least(1))
    body_bytes_max: int = setting(65_536, doc="longest body of a schedule, bytes", check=at_least(1))


class _Never:
    """The times of a schedule whose expression or zone is not understood any more."""

    def next_after(self, after_ms: int) -> int | None:
        """There is none."""
        return None


class Schedules(BrokerService):
    """Sends the message of each schedule at its planned times, each exactly once.

    A message carries number and planned time of its schedule, so the log says what was sent: a broker that
    was killed between storing a message and noting it finds it there. Nothing is awaited between the two.
    """

    Options = SchedulesOptions

    def __init__(self, port: BrokerPort, options: SchedulesOptions) -> None:
        self._port = port
        self._options = options
        self._timetable = Timetable(options.grace_seconds * 1000)
        self._definitions = Definitions(self._timetable)
        self._messages = Messages(self._timetable, lambda: port.reader.max_offset)
        self._task = port.due_task(self._send_due, "schedules")
        self._count = 0
        self._waiting = Troubles(log, port.clock.monotonic, level=logging.ERROR)

    def tables(self) -> Sequence[SavedTable]:
        """Definitions, and what was sent."""
        return (
            SavedTable("schedules.json", ScheduleTable, self._definitions, at_once=True),
            SavedTable("schedulesSent.json", SentTable, self._messages),
        )

    def periodic(self) -> Sequence[Periodic]:
        """Save where the log ends."""
        return (Periodic(_LOG_END_SECONDS, self._messages.note_log_end, "schedules"),)

    def counters(self) -> Mapping[str, str]:
        """How many schedules there are, and how many messages were sent since the start."""
        return {"schedules": str(len(self._timetable)), "scheduleMessages": str(self._count)}

    async def start(self) -> None:
        """Take up all schedules; the log says what was sent and not noted."""
        saved = self._definitions.take()
        self._timetable.load(saved.last_number, [(each, self._times(each)) for each in saved.schedules])
        reader = self._port.reader
        start = self._timetable.load_messages(self._messages.take(), reader.max_offset)
        if start < reader.max_offset:
            async for message in reader.records_from(start):
                self._note(message)
        self._ring()

    async def stop(self) -> None:
        """Send nothing further; what was sent is saved with the tables."""
        await self._task.stop()
        self._messages.changes += 1

    def abandon(self) -> None:
        """Let go of the timer."""
        self._task.cancel()

    @serves(CreateSchedule)
    def create(self, fields: CreateSchedule, call: Call) -> ScheduleState:
        """Make the schedule that the body describes. Raises `Refusal` 29, 17."""
        schedule = call.body(Schedule)
        now = self._port.clock.now_ms()
        try:
            check(schedule, self._options.body_bytes_max)
            times = Cron(schedule.expression, schedule.zone, now)
        except FixError as problem:
            raise Refusal(ResponseCode.INVALID_PARAMETER, str(problem)) from None
        self._check_place(schedule)
        entry = self._timetable.create(schedule, times, now, self._port.reader.max_offset)
        self._changed()
        return self._state(entry)

    @serves(ListSchedules)
    def list_all(self, fields: ListSchedules, call: Call) -> ScheduleStates:
        """All schedules, by name."""
        return ScheduleStates(schedules=[self._state(entry) for entry in self._timetable])

    @serves(PauseSchedule)
    def pause(self, fields: PauseSchedule, call: Call) -> ScheduleState:
        """Pause one. Raises `Refusal` 22."""
        entry = self._need(fields.name)
        self._timetable.pause(entry)
        self._changed()
        return self._state(entry)

    @serves(ResumeSchedule)
    def resume(self, fields: ResumeSchedule, call: Call) -> ScheduleState:
        """Go on with one. Raises `Refusal` 22."""
        entry = self._need(fields.name)
        self._timetable.resume(entry, self._port.clock.now_ms())
        self._changed()
        return self._state(entry)

    @serves(RemoveSchedule)
    def remove(self, fields: RemoveSchedule, call: Call) -> NoHeader:
        """Remove one. Raises `Refusal` 22."""
        self._timetable.remove(self._need(fields.name))
        self._changed()
        return NoHeader()

    def _need(self, name: str) -> Entry:
        entry = self._timetable.find(name)
        if entry is None:
            known = ", ".join(each.definition.name for each in self._timetable) or "there is none"
            raise Refusal(
                ResponseCode.QUERY_NOT_FOUND,
                f"schedule {name} does not exist at broker {self._port.identity.name}; known: {known}",
            )
        return entry

    def _check_place(self, schedule: Schedule) -> None:
        if self._timetable.find(schedule.name) is not None:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"schedule {schedule.name} exists at broker {self._port.identity.name} already;"
                " remove it first, or take another name",
            )
        if len(self._timetable) >= self._options.schedules_max:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"broker {self._port.identity.name} has {len(self._timetable)} schedules, no more are allowed"
                " (option schedules_max); remove some",
            )
        problem = self._problem_of_place(schedule)
        if problem is not None:
            raise Refusal(*problem)

    def _problem_of_place(self, schedule: Schedule) -> tuple[int, str] | None:
        """Code and text of why no message for `schedule` can be stored; `None` when it can."""
        if is_closed_topic(schedule.topic):
            return ResponseCode.NO_PERMISSION, (
                f"schedule {schedule.name}: topic {schedule.topic} is the system's own; it takes no messages"
            )
        topic = self._port.topics.find(schedule.topic)
        if topic is None:
            return ResponseCode.TOPIC_NOT_EXIST, (
                f"schedule {schedule.name}: topic {schedule.topic} does not exist at broker"
                f" {self._port.identity.name}; create it first"
            )
        if schedule.queue_id >= topic.write_queue_nums:
            return ResponseCode.INVALID_PARAMETER, (
                f"schedule {schedule.name}: topic {schedule.topic} has {topic.write_queue_nums} queues, none"
                f" is {schedule.queue_id}; take one below that number, or -1 for all in turn"
            )
        return None

    def _times(self, schedule: Schedule) -> Times:
        try:
            return Cron(schedule.expression, schedule.zone, self._port.clock.now_ms())
        except FixError as problem:
            log.error("a schedule sends nothing", schedule=schedule.name, problem=str(problem))
            return _Never()

    def _note(self, message: ReceivedMessage) -> None:
        """Take over what the log says was sent. Only what the broker itself stored counts."""
        if SCHEDULE_NUMBER not in message.raw_properties or message.born_host != message.store_host:
            return
        number = message.properties.get(SCHEDULE_NUMBER, "")
        planned = message.properties.get(SCHEDULE_TIME, "")
        if number.isdecimal() and planned.isdecimal():
            end = message.commit_log_offset + message.store_size
            self._timetable.sent(int(number), int(planned), end)

    def _changed(self) -> None:
        self._definitions.changes += 1
        self._ring()

    def _ring(self) -> None:
        now = self._port.clock.now_ms()
        first = self._timetable.next(now)
        if first is not None:
            self._task.ring_in(max(first.planned_ms - now, 0))

    async def _send_due(self) -> int | None:
        """Send what is due; in how many ms there is more to do, `None` when there is nothing."""
        failed: set[str] = set()
        for _ in range(_SLICE_MESSAGES):
            now = self._port.clock.now_ms()
            first = self._timetable.next(now, failed)
            if first is None or first.planned_ms > now:
                waits = [_RETRY_MS] if failed else []
                waits += [] if first is None else [first.planned_ms - now]
                return min(waits, default=None)
            if not self._send(first, now):
                failed.add(first.entry.definition.name)
        return 0

    def _send(self, firing: Firing, now: int) -> bool:
        """Store a message and note it, in one go; False, logged once, when that is not possible."""
        entry = firing.entry
        schedule = entry.definition
        place = self._problem_of_place(schedule)
        if place is not None:
            return self._failed(entry, place[1])
        topic = self._port.topics.find(schedule.topic)
        queues = max(topic.write_queue_nums, 1) if topic is not None else 1
        try:
            stored = self._port.writer.put(
                schedule.topic,
                schedule.queue_id if schedule.queue_id >= 0 else entry.turns % queues,
                body_bytes(schedule),
                properties_of(schedule, firing.planned_ms),
                born_timestamp=now,
            )
        except Refusal as refusal:
            return self._failed(entry, f"schedule {schedule.name}: {refusal.remark}")
        self._timetable.sent(schedule.number, firing.planned_ms, stored.end_offset)
        self._waiting.over(schedule.name, "messages of a schedule are sent again", schedule=schedule.name)
        self._messages.changes += 1
        self._count += 1
        return True

    def _failed(self, entry: Entry, problem: str) -> bool:
        entry.problem = problem
        name = entry.definition.name
        self._waiting.of(name).note(
            "a message of a schedule waits", kind=problem, schedule=name, problem=problem
        )
        return False

    def _state(self, entry: Entry) -> ScheduleState:
        return ScheduleState(
            schedule=entry.definition,
            broker=self._port.identity.name,
            next_ms=self._timetable.upcoming(entry, self._port.clock.now_ms()),
            last_ms=entry.last_ms,
            problem=entry.problem,
        )


@hookimpl
def register_broker_services() -> Factories:
    """`schedules`."""
    return {"schedules": Schedules}
