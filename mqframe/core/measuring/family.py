"""Metric families: a metric with all its series, as monitoring systems read it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from mqframe.core.measuring.histogram import Histogram, merged

KEYS_MAX: Final = 10_000
"""Most keys of a table that counts for monitoring alone: strangers choose the names of topics and groups."""


class MetricKind(StrEnum):
    """What a value means: a total that only grows, what there is now, or a distribution."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


Value = float | Histogram
Labels = tuple[str, ...]
"""The values of a series' labels, in the order of their names."""
Series = tuple[Labels, Value]
"""One series: its labels and what it has."""
Row = tuple[Labels | None, Sequence[Value]]
"""Labels, and what the series of each of several metrics has; `None`: all that are beyond the limit."""


class Family:
    """A metric. `labels`: names of the labels that tell its series apart; `meaning`: one line for people.

    `merge`: what stands for the numbers of many series; a sum by default, for delays their maximum.
    """

    __slots__ = ("kind", "labels", "meaning", "merge", "name", "series")

    def __init__(
        self,
        name: str,
        kind: MetricKind,
        meaning: str,
        labels: tuple[str, ...] = (),
        merge: Callable[[Iterable[float]], float] = sum,
    ) -> None:
        self.name = name
        self.kind = kind
        self.meaning = meaning
        self.labels = labels
        self.merge = merge
        self.series: list[Series] = []

    def add(self, value: Value, *labels: str) -> None:
        """Take in one series, with values of all `labels`. Where there may be many, make a `MetricTable`."""
        self.series.append((labels, value))

    def table(self) -> MetricTable:
        """The series that were taken in."""
        return MetricTable((self,), _rows(self.series))

    def together(self, one: Value | None, other: Value) -> Value:
        """What stands for both."""
        if one is None:
            return other
        if isinstance(one, Histogram) or isinstance(other, Histogram):
            return merged([each for each in (one, other) if isinstance(each, Histogram)])
        return self.merge((one, other))


class MetricTable(NamedTuple):
    """Metrics whose series have the same labels, row by row. Rows are made when they are asked for.

    So however many there are, none is kept but as text, and others get their turn in between.
    """

    families: Sequence[Family]
    rows: AsyncIterable[Row]


Metric = Family | MetricTable


async def _rows(series: Iterable[Series]) -> AsyncIterator[Row]:
    for labels, value in series:
        yield labels, (value,)


def one(name: str, kind: MetricKind, meaning: str, value: float) -> Family:
    """A metric that has one series, without labels."""
    family = Family(name, kind, meaning)
    family.add(value)
    return family


_V = TypeVar("_V")


def key_in(table: Mapping[Labels | None, _V], labels: Labels) -> Labels | None:
    """Where in `table` to count what has `labels`: `None`, for all others, once it has `KEYS_MAX` keys."""
    return labels if len(table) < KEYS_MAX or labels in table else None
