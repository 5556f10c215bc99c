"""Schedules as they travel and are saved: definitions, states, and what was sent last."""

from __future__ import annotations

import msgspec

from mqframe.core.wire.bodies import Body


class Schedule(Body):
    """A recurring message.

    `name`: unique in the cluster; `expression`, `zone`: `mqframe_schedules.cron`; `missed`:
    `mqframe_schedules.missed`; `queue_id`: -1 for all queues of the topic in turn. `body` is text, or Base64
    where `is_base64`. The broker sets `number`, `paused`, `since_ms` (nothing planned at or before is sent),
    and `since_offset` (bytes of the log; all its messages lie behind).
    """

    name: str
    expression: str
    topic: str
    body: str
    zone: str = "UTC"
    missed: str = "skip"
    is_base64: bool = False
    tag: str = ""
    keys: list[str] = []
    properties: dict[str, str] = {}
    queue_id: int = -1
    paused: bool = False
    number: int = 0
    since_ms: int = 0
    since_offset: int = 0


class ScheduleState(Body):
    """A schedule at a broker. Times in ms since 1970; `problem`: why what is due cannot be sent."""

    schedule: Schedule
    broker: str
    next_ms: int | None = None
    last_ms: int | None = None
    problem: str = ""


class ScheduleStates(Body):
    """The schedules of a broker, by name."""

    schedules: list[ScheduleState] = []


class ScheduleTable(Body):
    """The definitions as they are saved. `last_number`: the highest that was ever given."""

    last_number: int = 0
    schedules: list[Schedule] = []


class Sent(msgspec.Struct, array_like=True, frozen=True):
    """A message that was sent: its planned time (ms), and the log offset behind it (bytes)."""

    planned_ms: int
    end_offset: int


class SentTable(Body):
    """What was sent last, by number of the schedule; what lies in the log behind `scan_from` is not in it."""

    scan_from: int = 0
    sent: dict[str, list[Sent]] = {}
