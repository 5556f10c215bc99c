"""Metric families: a metric with all its series, as monitoring systems read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from mqframe.core.measuring.histogram import Histogram, merged

OVERFLOW = ("otel_metric_overflow", "true")
"""The only label of the series that stands for all those beyond the limit, as OpenTelemetry names it."""


class Kind(StrEnum):
    """What a value means: a total that only grows, what there is now, or a distribution."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


Value = float | Histogram
Series = tuple[tuple[str, ...], Value]
"""One series: the values of its labels, in the order of their names, and what it has."""


class Family:
    """A metric. `labels`: names of the labels that tell its series apart; `meaning`: one line for people.

    `merge`: what stands for the numbers of many series; a sum by default, for delays their maximum.
    """

    __slots__ = ("kind", "labels", "meaning", "merge", "name", "series")

    def __init__(
        self,
        name: str,
        kind: Kind,
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
        """Take in one series, with values of all `labels`. Where there are many, append to `series`."""
        self.series.append((labels, value))

    def limited(self, most: int) -> tuple[list[Series], Value | None]:
        """At most `most` series, and what the others come to together, `None` when there are no others.

        The first ones are kept, so that a series which is there today is there tomorrow.
        """
        if len(self.series) <= most:
            return self.series, None
        rest = [value for _, value in self.series[most:]]
        histograms = [value for value in rest if isinstance(value, Histogram)]
        numbers = [value for value in rest if not isinstance(value, Histogram)]
        return self.series[:most], merged(histograms) if histograms else self.merge(numbers)


def one(name: str, kind: Kind, meaning: str, value: float) -> Family:
    """A metric that has one series, without labels."""
    family = Family(name, kind, meaning)
    family.add(value)
    return family
