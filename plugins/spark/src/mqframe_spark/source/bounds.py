"""Where reading begins or ends: a word, a time, a group's progress, or an offset for each queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal

import attrs

from mqframe.core.errors import MessageError, SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_group
from mqframe.core.moments import unit_of

AT_EARLIEST: Final = -2
AT_LATEST: Final = -1
"""What stands for the two ends of a queue among offsets in JSON, as Spark users know it from Kafka."""


@attrs.frozen
class Bound:
    """`kind` says which of the others counts.

    `offsets`: by queue, `AT_EARLIEST` and `AT_LATEST` among them; queues that are left out count as at the
    default end. `timestamp_ms`: first message stored at or after it; `times`: the same by queue, instead.
    `group`: where that group is. `option`: how it was given, name and value, for error messages.
    """

    kind: Literal["earliest", "latest", "offsets", "time", "group"]
    offsets: Mapping[MessageQueue, int] = {}
    timestamp_ms: int = 0
    times: Mapping[MessageQueue, int] = {}
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
    return Bound("offsets", offsets=_by_queue(word, "offset", parse_offset))


def _by_queue(text: str, what: str, parse: Callable[[Any], int | None]) -> dict[MessageQueue, int]:
    """The values in JSON {"topic": {"broker/queue": value}}; `parse` gives `None` for what is no `what`."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise SettingError(f"is no JSON: {problem}") from None
    found = {}
    for topic, queues in table.items() if isinstance(table, dict) else ():
        for key, given in queues.items() if isinstance(queues, dict) else ():
            try:
                value = parse(given)
            except SettingError as problem:
                raise SettingError(f"{topic}: {key!r}: {problem}") from None
            if key.isdecimal() and value is not None:
                raise SettingError(
                    f"{topic}: {key!r}: {given!r} is not broker/queue: {what}; queues belong to "
                    f'brokers: write {{"{topic}": {{"broker-a/{key}": {json.dumps(given)}}}}}'
                )
            queue = queue_named(topic, key)
            if queue is None or value is None:
                raise SettingError(f"{topic}: {key!r}: {given!r} is not broker/queue: {what}")
            found[queue] = value
    if not found:
        raise SettingError(f'holds no {what}; write {{"topic": {{"broker/queue": {what}}}}}')
    return found


def queue_named(topic: str, name: str) -> MessageQueue | None:
    """The queue of `topic` that is called `name`, as broker-a/0; `None` for what is no such name."""
    broker, _, number = name.rpartition("/")
    return MessageQueue(topic, broker, int(number)) if broker and number.isdecimal() else None


def parse_offset(value: Any) -> int | None:
    """An offset in JSON, `AT_EARLIEST` and `AT_LATEST` among them; `None` for what is none."""
    return value if type(value) is int and value >= AT_EARLIEST else None


def _moment(value: Any) -> int | None:
    return _milliseconds(str(value)) if type(value) in (int, str) else None


def parse_time(text: str) -> Bound:
    """Milliseconds since 1970, or ISO 8601 with a zone; or JSON {"topic": {"broker/queue": time}}.

    Raises `SettingError`.
    """
    if text.strip().startswith("{"):
        return Bound("time", times=_by_queue(text, "time", _moment))
    found = _milliseconds(text)
    if found is None:
        raise SettingError("must be milliseconds since 1970, or a time such as 2026-11-21T10:00:00Z")
    return Bound("time", timestamp_ms=found)


def _milliseconds(text: str) -> int | None:
    """Since 1970; `None` for what is no time. Raises `SettingError` for one that may mean another."""
    word = text.strip()
    if word.isascii() and word.isdecimal():
        if unit := unit_of(int(word)):
            raise SettingError(f"{word} counts {unit}; write milliseconds since 1970")
        return int(word)
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        return None
    if moment.tzinfo is None:
        raise SettingError(
            f"{word} names no zone; add one, as {word}Z, or give the option timeZone, as that of the session:"
            ' spark.conf.get("spark.sql.session.timeZone")'
        )
    return round(moment.timestamp() * 1000)


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
    _check_known({**bound.offsets, **bound.times}, low)
    if bound.kind == "time":
        times = bound.times or dict.fromkeys(low, bound.timestamp_ms)
        reached = {queue: at_time(queue, moment) for queue, moment in times.items()}
        return {**default, **{queue: min(max(at, low[queue]), high[queue]) for queue, at in reached.items()}}
    if bound.kind == "group":
        stored = {queue: of_group(queue, bound.group) for queue in low}
        found = {queue: default[queue] if at is None else at for queue, at in stored.items()}
        for queue, at in found.items():
            _check_end(queue, at, high[queue])
        return found
    found = dict(default)
    for queue, offset in bound.offsets.items():
        _check_end(queue, offset, high[queue])
        found[queue] = {AT_EARLIEST: low, AT_LATEST: high}[offset][queue] if offset < 0 else offset
    return found


def _check_known(named: Iterable[MessageQueue], low: Mapping[MessageQueue, int]) -> None:
    strangers = sorted(queue for queue in named if queue not in low)
    if strangers:
        topic, broker, number = strangers[0]
        raise SettingError(f"topic {topic} has no queue {broker}/{number}")


def _check_end(queue: MessageQueue, offset: int, high: int) -> None:
    if offset > high:
        raise SettingError(
            f"topic {queue.topic}, queue {queue.broker_name}/{queue.queue_id}: offset {offset} lies behind "
            f"its end, {high}"
        )


def check_order(starting: Bound, ending: Bound) -> None:
    """Raise `SettingError` when `ending` comes before `starting` whatever the queues hold."""
    backwards = starting == LATEST and ending == EARLIEST
    if starting.kind == ending.kind == "time" and not starting.times and not ending.times:
        backwards = starting.timestamp_ms > ending.timestamp_ms
    for queue, offset in ending.offsets.items():
        backwards |= 0 <= offset < starting.offsets.get(queue, 0)
    if backwards:
        raise SettingError(f"options {starting.option} and {ending.option} contradict each other")
