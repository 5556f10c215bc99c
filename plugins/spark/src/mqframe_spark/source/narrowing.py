"""What a query's filters say of where its messages are: which queues, from where to where, and which tags.

Spark checks every filter again, so it is enough that nothing is left out that any of them lets through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import attrs
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from mqframe.core.messages.message import MessageQueue

CLOCK_SLACK_MS: Final = 60_000
"""By so much a broker's clock may have been set back between two messages of a queue."""
_LOWER: Final = (GreaterThan, GreaterThanOrEqual)
_UPPER: Final = (LessThan, LessThanOrEqual)
_NUMBERS: Final = ("queue_offset", "store_timestamp")


@attrs.frozen
class Narrowing:
    """`among`: by column, the values that are let through, of topic, broker, queue_id and tags. `least`,
    `most`: by column, both included, of queue_offset and store_timestamp (ms)."""

    among: Mapping[str, frozenset[Any]] = {}
    least: Mapping[str, int] = {}
    most: Mapping[str, int] = {}

    def wants(self, queue: MessageQueue) -> bool:
        """Whether there may be anything in `queue`."""
        known = {"topic": queue.topic, "broker": queue.broker_name, "queue_id": queue.queue_id}
        return all(value in self.among[name] for name, value in known.items() if name in self.among)

    def within(
        self, queue: MessageQueue, start: int, end: int, at_time: Callable[[MessageQueue, int], int]
    ) -> tuple[int, int]:
        """What of the offsets from `start` to before `end` has to be read; the same two where it is nothing.

        `at_time`: gives the offset of the first message of a queue that was stored then (ms) or later.
        """
        low, high = start, end
        if not self.wants(queue):
            return start, start
        low = max(low, self.least.get("queue_offset", low))
        high = min(high, self.most.get("queue_offset", high - 1) + 1)
        since, until = self.least.get("store_timestamp"), self.most.get("store_timestamp")
        if since is not None and low < high:
            low = max(low, at_time(queue, max(0, since - CLOCK_SLACK_MS)))
        if until is not None and low < high:
            high = min(high, at_time(queue, max(0, until + 1 + CLOCK_SLACK_MS)))
        return (low, high) if low < high else (start, start)

    def tags(self) -> str:
        """Tags as an expression for brokers; "*" for all, and where one of them cannot stand in one."""
        found = self.among.get("tags")
        if not found or any(not tag.strip() or tag != tag.strip() or {"|", "*"} & set(tag) for tag in found):
            return "*"
        return " || ".join(sorted(found))


ALL: Final = Narrowing()
"""Nothing is known."""


def narrowing_of(filters: Iterable[Filter]) -> Narrowing:
    """What `filters`, all of which must let a row through, say together. What is not understood
    says nothing."""
    among: dict[str, frozenset[Any]] = {}
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for found in filters:
        name = ".".join(getattr(found, "attribute", ()))
        values = _values(found)
        kind = int if name == "queue_id" else str
        if name in ("topic", "broker", "queue_id", "tags"):
            if values is not None and all(type(value) is kind for value in values):
                among[name] = among.get(name, frozenset(values)) & frozenset(values)
        elif name in _NUMBERS:
            low, high = _range(found, values)
            if low is not None:
                least[name] = max(low, least.get(name, low))
            if high is not None:
                most[name] = min(high, most.get(name, high))
    return Narrowing(among, least, most)


def _values(found: Filter) -> tuple[Any, ...] | None:
    """The values that a row may have, `None` where `found` says it in another way. Nothing equals null."""
    if isinstance(found, EqualTo | EqualNullSafe):
        return (found.value,)
    if isinstance(found, In):
        return tuple(value for value in found.value if value is not None)
    return None


def _range(found: Filter, values: tuple[Any, ...] | None) -> tuple[int | None, int | None]:
    """The least and the greatest whole number that `found` lets through; `None`: it does not say."""
    if values is not None:
        numbers = [_number(value) for value in values]
        known = [number for number in numbers if number is not None]
        whole = bool(known) and len(known) == len(numbers)
        return (math.floor(min(known)), math.ceil(max(known))) if whole else (None, None)
    if isinstance(found, _LOWER + _UPPER):
        number = _number(found.value)
        if number is not None:
            return (math.floor(number), None) if isinstance(found, _LOWER) else (None, math.ceil(number))
    return None, None


def _number(value: Any) -> float | None:
    """An offset, or a time in ms; `None` for what is neither, as a time without a zone."""
    if type(value) is int:
        return value
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.timestamp() * 1000
    return None
