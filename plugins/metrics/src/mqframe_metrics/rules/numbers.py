"""Counters that operators are shown by name, as metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mqframe.core.measuring.family import Family, MetricKind

_BUDGET: Final = re.compile(r"budget\.(\w+)\.(used|max|refused|closedIdle)")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def budget_families(counters: Mapping[str, str]) -> Sequence[Family]:
    """Of each budget in `counters` what is in use, the most that may be, and how often that was refused."""
    families = {
        "used": Family("mqframe_budget_used", MetricKind.GAUGE, "What is in use of a budget.", ("budget",)),
        "max": Family("mqframe_budget_max", MetricKind.GAUGE, "The most that may be in use.", ("budget",)),
        "refused": Family(
            "mqframe_budget_refused_total", MetricKind.COUNTER, "How often there was not enough.", ("budget",)
        ),
        "closedIdle": Family(
            "mqframe_budget_made_room_total",
            MetricKind.COUNTER,
            "Idle ones that went for others.",
            ("budget",),
        ),
    }
    for name, value in counters.items():
        found = _BUDGET.fullmatch(name)
        if found is not None:
            families[found[2]].add(float(value), _WORD.sub("_", found[1]).lower())
    return tuple(families.values())


def number_family(counters: Mapping[str, str]) -> Family:
    """All others of `counters` that are numbers, those of plugins among them, under their names."""
    family = Family(
        "mqframe_counter",
        MetricKind.GAUGE,
        "Numbers that parts and plugins show operators, by name.",
        ("name",),
    )
    for name, value in counters.items():
        try:
            number = float(value)
        except ValueError:
            continue  # words for people
        if not _BUDGET.fullmatch(name):
            family.add(number, name)
    return family
