"""Rates over time as lines: where nobody knows a rate, there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from mqframe_dashboard.series import Rate

CURVE_WIDTH, CURVE_HEIGHT = 120, 24
CHART_WIDTH, CHART_HEIGHT = 600, 120
NO_DATA: Final = "no data yet"


@attrs.frozen
class CurveSpan:
    """What a line covers, from left to right: from `begin` to `end`, s, of the clock of the rates."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.begin


@attrs.frozen
class Curve:
    """Rates over time in a cell of a table, the oldest first; those of one table have the same `span`."""

    rates: Sequence[Rate]
    span: CurveSpan

    @property
    def lines(self) -> list[str]:
        """Points of SVG polylines, one between each two gaps; the highest rate touches the top."""
        return lines(self.rates, self.span, CURVE_WIDTH, CURVE_HEIGHT)

    @property
    def label(self) -> str:
        """What it says, in words."""
        return f"at most {highest(self.rates)} a second"


@attrs.frozen
class Chart:
    """Rates over time, a second, the oldest first, as a part of its own."""

    title: str
    rates: Sequence[Rate]
    span: CurveSpan
    unit: str = "Messages"
    kind: str = "chart"

    @property
    def lines(self) -> list[str]:
        """Points of SVG polylines, one between each two gaps; the highest rate touches the top."""
        return lines(self.rates, self.span, CHART_WIDTH, CHART_HEIGHT)

    @property
    def caption(self) -> str:
        """What the line says, in words."""
        if not self.rates:
            return f"There is {NO_DATA}: a rate follows from two looks."
        last = self.rates[-1]
        now = f"{last.per_second:.1f} now" if last.end >= self.span.end else "not known now"
        said = f"{self.unit} a second over the last {span_text(self.span.seconds * 1000)}: {now}"
        gaps = " Where there is no line, nobody looked, or was answered." if self._has_gaps else ""
        return f"{said}, {highest(self.rates)} at most.{gaps}"

    @property
    def _has_gaps(self) -> bool:
        return len(self.lines) > 1 or self.rates[0].begin > self.span.begin


def highest(rates: Sequence[Rate]) -> float:
    """The highest rate, with one digit behind the point; 0 for none."""
    return round(max((each.per_second for each in rates), default=0.0), 1)


def lines(rates: Sequence[Rate], span: CurveSpan, width: int, height: int) -> list[str]:
    """Points of polylines for `rates`: each is level for as long as it is the average of."""
    high = max((each.per_second for each in rates), default=0.0) or 1.0
    stretch = width / span.seconds if span.seconds > 0 else 0.0
    found: list[list[str]] = []
    end = None
    for each in rates:
        if each.begin != end:
            found.append([])
        y = (height - 1) - each.per_second / high * (height - 2)
        found[-1] += [f"{max(0.0, (at - span.begin) * stretch):.1f},{y:.1f}" for at in each[:2]]
        end = each.end
    return [" ".join(points) for points in found]


def span_text(milliseconds: float) -> str:
    """How long something takes or took, of the largest unit that it has two of: "90 s", "3 min", "4 d"."""
    seconds = max(0, int(milliseconds / 1000))
    for unit, size, most in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < most:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"
