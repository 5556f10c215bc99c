"""What is wrong with a schedule that somebody wants to make."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from mqframe.core.errors import FixError, MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import check_topic
from mqframe_schedules.bodies import Schedule
from mqframe_schedules.missed import POLICIES

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_MARKS: Final = (p.NAME_END, p.PAIR_END)
SCHEDULE: Final = "SCHEDULE"
"""Property of a message that was sent by a schedule: its name."""
SCHEDULE_NUMBER: Final = "SCHEDULE_NUMBER"
"""The number of the schedule, which no other one ever had at its broker."""
SCHEDULE_TIME: Final = "SCHEDULE_TIME"
"""The planned time, ms since 1970."""
_OWN: Final = frozenset({SCHEDULE, SCHEDULE_NUMBER, SCHEDULE_TIME})


def body_bytes(schedule: Schedule) -> bytes:
    """The body of each message. Raises `FixError` for what is no Base64."""
    if not schedule.is_base64:
        return schedule.body.encode()
    try:
        return base64.b64decode(schedule.body, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise FixError(f"schedule {schedule.name}: its body is no Base64: {problem}") from None


def check(schedule: Schedule, body_bytes_max: int) -> None:
    """Raise `FixError` unless everything is well but expression, zone and topic, which others check."""
    if not _NAME.fullmatch(schedule.name):
        raise FixError(f"schedule name {schedule.name!r}: give 1 to 100 letters, digits, dots, _ or -")
    if schedule.missed not in POLICIES:
        raise FixError(
            f"schedule {schedule.name}: missed is {schedule.missed!r}; say one of {', '.join(POLICIES)}"
        )
    if schedule.queue_id < -1:
        raise FixError(
            f"schedule {schedule.name}: queue {schedule.queue_id}; give a queue id, or -1 for all in turn"
        )
    try:
        check_topic(schedule.topic)
    except MessageError as problem:
        raise FixError(f"schedule {schedule.name}: {problem}") from None
    size = len(body_bytes(schedule))
    if not 0 < size <= body_bytes_max:
        raise FixError(
            f"schedule {schedule.name}: its body has {size} bytes; give 1 to {body_bytes_max},"
            " and keep more elsewhere"
        )
    _check_properties(schedule)


def _check_properties(schedule: Schedule) -> None:
    for name, value in schedule.properties.items():
        if name in p.RESERVED or name in _OWN:
            raise FixError(f"schedule {schedule.name}: property {name} is set by the system; leave it out")
        if not name or not value:
            raise FixError(f"schedule {schedule.name}: property {name!r} has no name or no value")
    texts = [schedule.tag, *schedule.keys, *schedule.properties, *schedule.properties.values()]
    if any(mark in text for text in texts for mark in _MARKS):
        raise FixError(
            f"schedule {schedule.name}: characters 1 and 2 may not be in tags, keys and properties"
        )
    if any(" " in key or not key for key in schedule.keys):
        raise FixError(f"schedule {schedule.name}: a key is empty or has a blank in it")
    if len(p.encode_properties(properties_of(schedule, 0)).encode()) > p.PROPERTIES_BYTES_MAX // 2:
        raise FixError(
            f"schedule {schedule.name}: its properties are too long; put more than 16 kB into the body"
        )


def properties_of(schedule: Schedule, planned_ms: int) -> dict[str, str]:
    """The properties of the message for `planned_ms`."""
    made = dict(schedule.properties)
    if schedule.tag:
        made[p.TAGS] = schedule.tag
    if schedule.keys:
        made[p.KEYS] = " ".join(schedule.keys)
    made[SCHEDULE] = schedule.name
    made[SCHEDULE_NUMBER] = str(schedule.number)
    made[SCHEDULE_TIME] = str(planned_ms)
    return made
