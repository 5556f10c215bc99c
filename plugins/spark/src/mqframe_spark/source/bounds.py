"""Where reading begins or ends: a word, a time, a group's progress, or an offset for each queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

import attrs

from mqframe.core.errors import MessageError, SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_group

AT_EARLIEST: Final = -2
AT_LATEST: Final = -1
"""What stands for the two ends of a queue among offsets in JSON, as Spark users know it from Kafka."""


@attrs.frozen
class Bound:
    """`kind` says which of the others counts.

    `offsets`: by queue, `AT_EARLIEST` and `AT_LATEST` among them; queues that are left out count as at the
    default end. `timestamp_ms`: first message stored at or after it. `group`: where that group is. `option`:
    how it was given, name and value, for error messages.
    """

    kind: Literal["earliest", "latest", "offsets", "time", "group"]
    offsets: Mapping[MessageQueue, int] = {}
    timestamp_ms: int = 0
    group: str = ""
    option: str = attrs.field(default="", eq=False)


EARLIEST: Final = Bound("earliest")
LATEST: Final = Bound("latest")


def parse_bound(text: str) -> Bound:
    """earliest, latest, group:NAME, or JSON {"topic": {"broker/queue": offset}}. Raises `SettingError`."""
    word = text.strip()
    if word.lower() == "earliest":
        return EARLIEST
    if word.lower() == "latest":
        return LATEST
    if word.startswith("group:"):
        group = word.removeprefix("group:").strip()
        try:
            check_group(group)
        except MessageError as problem:
            raise SettingError(str(problem)) from None
        return Bound("group", group=group)
    if not word.startswith("{"):
        raise SettingError('must be earliest, latest, group:NAME or JSON {"topic": {"broker/queue": offset}}')
    try:
        table = json.loads(word)
    except ValueError as problem:
        raise SettingError(f"is no JSON: {problem}") from None
    return Bound("offsets", offsets=offsets_of(table))


def offsets_of(table: Any) -> dict[MessageQueue, int]:
    """The offsets in {"topic": {"broker/queue": offset}}. Raises `SettingError` naming what is wrong."""
    found = {}
    for topic, queues in table.items() if isinstance(table, dict) else ():
        for key, offset in queues.items() if isinstance(queues, dict) else ():
            broker, _, number = str(key).rpartition("/")
            if not broker or not number.isdecimal() or type(offset) is not int or offset < AT_EARLIEST:
                raise SettingError(f"{topic}: {key!r}: {offset!r} is not broker/queue: offset")
            found[MessageQueue(topic, broker, int(number))] = offset
    if not found:
        raise SettingError('holds no offset; write {"topic": {"broker/queue": offset}}')
    return found


def parse_time(text: str) -> Bound:
    """Milliseconds since 1970, or ISO 8601 (UTC where it names no zone). Raises `SettingError`."""
    word = text.strip()
    if word.isdecimal():
        return Bound("time", timestamp_ms=int(word))
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise SettingError(
            "must be milliseconds since 1970, or a time such as 2026-11-21T10:00:00Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Bound("time", timestamp_ms=round(moment.timestamp() * 1000))


def resolve(
    bound: Bound,
    low: Mapping[MessageQueue, int],
    high: Mapping[MessageQueue, int],
    default: Mapping[MessageQueue, int],
    at_time: Callable[[MessageQueue, int], int],
    of_group: Callable[[MessageQueue, str], int | None],
) -> dict[MessageQueue, int]:
    """The offset of each queue at `bound`.

    `low`, `high`: the ends of the queues; `default`: what counts for a queue that `bound` says nothing of.
    Raises `SettingError` for offsets beyond a queue or of no queue."""
    if bound.kind == "earliest":
        return dict(low)
    if bound.kind == "latest":
        return dict(high)
    if bound.kind == "time":
        return {queue: min(max(at_time(queue, bound.timestamp_ms), low[queue]), high[queue]) for queue in low}
    if bound.kind == "group":
        stored = {queue: of_group(queue, bound.group) for queue in low}
        found = {queue: default[queue] if at is None else at for queue, at in stored.items()}
        for queue, at in found.items():
            _check_end(queue, at, high[queue])
        return found
    strangers = sorted(queue for queue in bound.offsets if queue not in low)
    if strangers:
        topic, broker, number = strangers[0]
        raise SettingError(f"topic {topic} has no queue {broker}/{number}")
    found = dict(default)
    for queue, offset in bound.offsets.items():
        _check_end(queue, offset, high[queue])
        found[queue] = {AT_EARLIEST: low, AT_LATEST: high}[offset][queue] if offset < 0 else offset
    return found


def _check_end(queue: MessageQueue, offset: int, high: int) -> None:
    if offset > high:
        raise SettingError(
            f"topic {queue.topic}, queue {queue.broker_name}/{queue.queue_id}: offset {offset} lies behind "
            f"its end, {high}"
        )


def check_order(starting: Bound, ending: Bound) -> None:
    """Raise `SettingError` when `ending` comes before `starting` whatever the queues hold."""
    backwards = starting == LATEST and ending == EARLIEST
    if starting.kind == ending.kind == "time":
        backwards = starting.timestamp_ms > ending.timestamp_ms
    for queue, offset in ending.offsets.items():
        backwards |= 0 <= offset < starting.offsets.get(queue, 0)
    if backwards:
        raise SettingError(f"options {starting.option} and {ending.option} contradict each other")
