"""The option `assign`: the queues to read by name, and where reading begins in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_topic
from mqframe_spark.source.bounds import Bound, parse_offset, queue_named

_FORM = '{"topic": ["broker/queue"]} or {"topic": {"broker/queue": offset}}'


@attrs.frozen
class Assigned:
    """`offsets`: where reading begins, of those `queues` that say so. `option`: how it was given, name and
    value, for error messages."""

    queues: frozenset[MessageQueue]
    offsets: Mapping[MessageQueue, int] = {}
    option: str = attrs.field(default="", eq=False)

    @property
    def topics(self) -> tuple[str, ...]:
        """Whose queues these are, sorted."""
        return tuple(sorted({queue.topic for queue in self.queues}))

    @property
    def starting(self) -> Bound | None:
        """Where reading begins; `None` where that is not said."""
        return Bound("offsets", offsets=self.offsets, option=self.option) if self.offsets else None

    def of(self, found: Iterable[MessageQueue], *, patient: bool, where: str = "") -> list[MessageQueue]:
        """Those of the queues `found` that are assigned, in their order.

        Raises `SettingError` for an assigned queue that is not there, unless `patient`; `where` ends its
        message.
        """
        here = [queue for queue in found if queue in self.queues]
        missing = sorted(self.queues.difference(here))
        if missing and not patient:
            topic, broker, number = missing[0]
            raise SettingError(f"option {self.option}: topic {topic} has no queue {broker}/{number}{where}")
        return here

    def check_known(self, positions: Iterable[MessageQueue]) -> None:
        """Raise `FixError` where a checkpoint holds `positions` of other queues."""
        others = sorted(set(positions) - self.queues)
        if others:
            topic, broker, number = others[0]
            raise FixError(
                f"the checkpoint holds an offset of topic {topic}, queue {broker}/{number}, which option "
                f"{self.option} does not name; name it there, or use another checkpointLocation for other "
                "queues"
            )


def parse_assigned(text: str) -> Assigned:
    """JSON {"topic": ["broker/queue"]}, or with an offset for each queue; -2: the oldest, -1: the end.

    Raises `SettingError`, and `MessageError` for a topic that none can have.
    """
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise SettingError(f"is no JSON: {problem}; write {_FORM}") from None
    if not isinstance(table, dict) or not table:
        raise SettingError(f"names no queue; write {_FORM}")
    queues: set[MessageQueue] = set()
    offsets: dict[MessageQueue, int] = {}
    for topic, given in table.items():
        check_topic(topic)
        if not isinstance(given, list | dict) or not given:
            raise SettingError(f"{topic}: {given!r} names no queue; write {_FORM}")
        for key in given:
            queue = _queue(topic, key, given)
            queues.add(queue)
            if isinstance(given, dict):
                offsets[queue] = _offset(topic, key, given[key])
    return Assigned(frozenset(queues), offsets)


def _queue(topic: str, key: Any, given: Any) -> MessageQueue:
    found = queue_named(topic, key) if isinstance(key, str) else None
    if found is not None:
        return found
    number = str(key).rpartition("/")[2]
    if not number.isdecimal():
        raise SettingError(f"{topic}: {key!r} is not broker/queue; write {_FORM}")
    named = f"broker-a/{number}"
    example = json.dumps({topic: {named: given[key]} if isinstance(given, dict) else [named]})
    raise SettingError(f"{topic}: {key!r} is not broker/queue; queues belong to brokers: write {example}")


def _offset(topic: str, key: str, given: Any) -> int:
    offset = parse_offset(given)
    if offset is None:
        raise SettingError(
            f"{topic}: {key!r}: {given!r} is no offset; write a whole number, -2 for the oldest message or "
            "-1 for the end"
        )
    return offset
