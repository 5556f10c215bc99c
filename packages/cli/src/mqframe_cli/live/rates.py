"""Rates of topics and groups: what changed between two looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from mqframe_cli.names.known import topic_order


@attrs.frozen
class GroupProgress:
    """How far a group is in a topic, all queues together: messages consumed, and stored in all."""

    consumed: int
    end: int
    lag: int


@attrs.frozen
class Look:
    """What was seen at `at` (s). `ends`: messages ever stored in each topic; `held`: those still there;
    `groups`: progress by (group, topic); `brokers`: what is shown of each.
    """

    at: float
    ends: Mapping[str, int]
    held: Mapping[str, int]
    groups: Mapping[tuple[str, str], GroupProgress]
    brokers: tuple[Mapping[str, Any], ...] = ()


def topic_rates(before: Look, now: Look) -> list[dict[str, Any]]:
    """A row for each topic, the busiest first: messages a second in, and out to all groups together."""
    out: dict[str, float] = {}
    for (_, topic), rate in _consumed(before, now).items():
        out[topic] = out.get(topic, 0.0) + rate
    rows = [
        {
            "topic": topic,
            "in_per_s": per_second(before.ends.get(topic), end, now.at - before.at),
            "out_per_s": round(out.get(topic, 0.0), 1),
            "messages": now.held.get(topic, 0),
        }
        for topic, end in now.ends.items()
    ]
    return sorted(rows, key=lambda row: (-row["in_per_s"], -row["out_per_s"], *topic_order(row["topic"])))


def group_rates(before: Look, now: Look) -> list[dict[str, Any]]:
    """A row for each group and topic, the furthest behind first: messages a second in and out, lag."""
    consumed = _consumed(before, now)
    rows = [
        {
            "group": key[0],
            "topic": key[1],
            "in_per_s": per_second(
                before.groups[key].end if key in before.groups else None, each.end, now.at - before.at
            ),
            "out_per_s": consumed[key],
            "lag": each.lag,
        }
        for key, each in now.groups.items()
    ]
    return sorted(
        rows, key=lambda row: (-row["lag"], -row["out_per_s"], row["group"], *topic_order(row["topic"]))
    )


def _consumed(before: Look, now: Look) -> dict[tuple[str, str], float]:
    return {
        key: per_second(
            before.groups[key].consumed if key in before.groups else None, each.consumed, now.at - before.at
        )
        for key, each in now.groups.items()
    }


def per_second(before: int | None, now: int, seconds: float) -> float:
    """How much a count grew a second; 0 for what was not there before, or was set back meanwhile."""
    if before is None or now < before or seconds <= 0:
        return 0.0
    return round((now - before) / seconds, 1)
