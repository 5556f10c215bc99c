"""Metrics as text, in the format that Prometheus reads (version 0.0.4).

prometheus-client writes the same some ten times slower: a broker with 10,000 queues has 100,000 lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from math import inf, isfinite, isnan

from mqframe.core.measuring.family import OVERFLOW, Family, Value
from mqframe.core.measuring.histogram import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def head(family: Family) -> str:
    """The lines before all series of a metric."""
    meaning = family.meaning.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {family.name} {meaning}\n# TYPE {family.name} {family.kind}\n"


def lines(family: Family, common: Mapping[str, str], most: int) -> Iterator[str]:
    """One text for each series of `family`, with `common` labels; beyond `most` of them one for the rest."""
    start = label_text(common.items())
    kept, rest = family.limited(most)
    names = [f',{name}="' if start or at else f'{name}="' for at, name in enumerate(family.labels)]
    for labels, value in kept:
        yield _series(family, start + _labels(names, labels), value)
    if rest is not None:
        yield _series(family, label_text([*common.items(), OVERFLOW]), rest)


def label_text(labels: Iterable[tuple[str, str]]) -> str:
    """Labels as they stand in braces."""
    return ",".join(f'{name}="{escaped(value)}"' for name, value in labels)


def _labels(names: list[str], values: tuple[str, ...]) -> str:
    return "".join([f'{name}{escaped(value)}"' for name, value in zip(names, values, strict=True)])


def _series(family: Family, labels: str, value: Value) -> str:
    if isinstance(value, Histogram):
        return _histogram(family.name, labels, value)
    return f"{family.name}{{{labels}}} {number(value)}\n" if labels else f"{family.name} {number(value)}\n"


def _histogram(name: str, labels: str, histogram: Histogram) -> str:
    start = f"{name}_bucket{{{labels}{',' if labels else ''}"
    counts = accumulate(histogram.counts)
    buckets = "".join(
        [
            f"{start}{bound}{count}\n"
            for bound, count in zip(_ends(tuple(histogram.bounds)), counts, strict=True)
        ]
    )
    braces = f"{{{labels}}}" if labels else ""
    total = sum(histogram.counts)
    return f"{buckets}{name}_sum{braces} {number(histogram.sum)}\n{name}_count{braces} {total}\n"


@lru_cache(maxsize=64)
def _ends(bounds: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f'le="{number(float(bound))}"}} ' for bound in (*bounds, inf))


def escaped(value: str) -> str:
    """A label's value; names of topics and groups mostly stay what they are."""
    if '"' in value or "\\" in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value


def number(value: float) -> str:
    """A number; whole ones come without a fraction, but for the bounds of buckets."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value) if not isinstance(value, bool) else str(int(value))
