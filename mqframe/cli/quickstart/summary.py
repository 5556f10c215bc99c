"""Counts and means by tag: computed from the input here, by Spark elsewhere, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isclose

import attrs


@attrs.define
class Group:
    """What is known of one tag. `values` rows had a number; their sum is `total`."""

    count: int = 0
    values: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float | None:
        """The mean of the numbers, `None` without any."""
        return self.total / self.values if self.values else None


class Summary:
    """Counts and sums by tag, fed row by row."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}

    def add(self, tag: str, value: float | None) -> None:
        """Count one row."""
        group = self.groups.get(tag)
        if group is None:
            group = self.groups[tag] = Group()
        group.count += 1
        if value is not None:
            group.values += 1
            group.total += value


def differences(expected: Mapping[str, Group], found: Mapping[str, Group]) -> list[str]:
    """What `found` says otherwise than `expected`, a line for each tag; empty when they agree.

    Sums are floats that were added in another order, so the last digits may differ.
    """
    lines = []
    for tag in sorted({*expected, *found}):
        left, right = expected.get(tag, Group()), found.get(tag, Group())
        same = (left.count, left.values) == (right.count, right.values)
        if not same or not isclose(left.total, right.total, rel_tol=1e-9, abs_tol=1e-6):
            lines.append(f"{tag}: expected {_text(left)}, got {_text(right)}")
    return lines


def missing(sent: Iterable[str], seen: set[str]) -> list[str]:
    """The ids in `sent` that nobody saw."""
    return [each for each in sent if each not in seen]


def _text(group: Group) -> str:
    return f"{group.count} rows, sum {group.total:g} of {group.values}"
