"""Metrics as text, in the format that Prometheus reads (version 0.0.4).

prometheus-client writes the same some ten times slower: a broker with 10,000 queues has 100,000 lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import inf, isfinite, isnan
from typing import Final

from mqframe.core.measuring.family import Family, Labels, Value
from mqframe.core.measuring.histogram import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OVERFLOW: Final = ("otel_metric_overflow", "true")
"""The only label of the series that stands for all those beyond the limit, as OpenTelemetry names it."""
_PLACE: Final = "\0"
"""Where labels go in a pattern."""


def head(family: Family) -> str:
    """The lines before all series of a metric."""
    meaning = family.meaning.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {family.name} {meaning}\n# TYPE {family.name} {family.kind}\n"


class TableText:
    """Writes rows of `families`, which have the same labels. `common`: labels of all series.

    `most`: rows that are written; what is beyond becomes one more, which stands for all of them.
    """

    def __init__(self, families: Sequence[Family], common: Mapping[str, str], most: int) -> None:
        self._columns = [_Column(family) for family in families]
        self._left = most
        self._common = label_text(common.items())
        names = families[0].labels
        self._quotes = 2 * len(names)
        self._pattern = ",".join([f'{name}="%s"' for name in names])
        self._start = f"{self._common}," if self._common and names else self._common

    def add(self, labels: Labels | None, values: Sequence[Value]) -> None:
        """Write one row; `labels`: `None` for one that already stands for several."""
        if labels is None or not self._left:
            for column, value in zip(self._columns, values, strict=True):
                column.rest = column.family.together(column.rest, value)
            return
        self._left -= 1
        text = self._pattern % labels
        if text.count('"') != self._quotes or "\\" in text or "\n" in text:  # most need no escapes
            text = self._pattern % tuple(map(escaped, labels))
        text = self._start + text
        for column, value in zip(self._columns, values, strict=True):
            column.write(text, value)

    def end(self) -> None:
        """Write what stands for the rows beyond the limit."""
        overflow = label_text([OVERFLOW])
        text = f"{self._common},{overflow}" if self._common else overflow
        for column in self._columns:
            if column.rest is not None:
                column.write(text, column.rest)
                column.rest = None

    def take(self) -> Iterable[tuple[Family, bytes]]:
        """What was written since the last call, by metric."""
        for column in self._columns:
            if column.lines:
                yield column.family, "".join(column.lines).encode()
                column.lines.clear()


class _Column:
    """The series of one metric. `rest`: of all that are beyond the limit."""

    __slots__ = ("_pattern", "family", "lines", "rest")

    def __init__(self, family: Family) -> None:
        self.family = family
        self.lines: list[str] = []
        self.rest: Value | None = None
        self._pattern = ""

    def write(self, labels: str, value: Value) -> None:
        if isinstance(value, Histogram):
            # The numbers go in first: labels may hold anything.
            self._pattern = self._pattern or _histogram_pattern(self.family.name, value.bounds)
            counts = (*accumulate(value.counts), number(value.sum), sum(value.counts))
            line = (self._pattern % counts).replace(_PLACE, labels)
            self.lines.append(line if labels else line.replace("{}", "").replace("{,", "{"))
        else:
            braces = f"{{{labels}}}" if labels else ""
            self.lines.append(f"{self.family.name}{braces} {number(value)}\n")


def _histogram_pattern(name: str, bounds: Sequence[float]) -> str:
    ends = [number(float(bound)) for bound in (*bounds, inf)]
    buckets = "".join([f'{name}_bucket{{{_PLACE},le="{end}"}} %d\n' for end in ends])
    return f"{buckets}{name}_sum{{{_PLACE}}} %s\n{name}_count{{{_PLACE}}} %d\n"


def label_text(labels: Iterable[tuple[str, str]]) -> str:
    """Labels as they stand in braces."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels)


def escaped(value: str) -> str:
    """A label's value."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def number(value: float) -> str:
    """A number; whole ones come without a fraction, but for the bounds of buckets."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value) if not isinstance(value, bool) else str(int(value))
