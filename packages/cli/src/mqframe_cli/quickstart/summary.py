"""Counts and means by tag: computed from the input here, by a plugin elsewhere, and compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import isclose

from mqframe.hooks.interfaces import TagSummary


def add(groups: defaultdict[str, TagSummary], tag: str, value: float | None) -> None:
    """Count one row, and add its number."""
    group = groups[tag]
    group.count += 1
    if value is not None:
        group.values += 1
        group.total += value


def differences(expected: Mapping[str, TagSummary], found: Mapping[str, TagSummary]) -> list[str]:
    """What `found` says otherwise than `expected`, a line for each tag; empty when they agree.

    Sums are floats that were added in another order, so the last digits may differ.
    """
    lines = []
    for tag in sorted({*expected, *found}):
        left, right = expected.get(tag, TagSummary()), found.get(tag, TagSummary())
        same = (left.count, left.values) == (right.count, right.values)
        if not same or not isclose(left.total, right.total, rel_tol=1e-9, abs_tol=1e-6):
            lines.append(f"{tag}: expected {_text(left)}, got {_text(right)}")
    return lines


def missing(sent: Iterable[str], seen: set[str]) -> list[str]:
    """The ids in `sent` that nobody saw."""
    return [each for each in sent if each not in seen]


def _text(group: TagSummary) -> str:
    return f"{group.count} rows, sum {group.total:g} of {group.values}"
