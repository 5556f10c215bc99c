"""What monitoring is shown of quotas: a series for each quota and limit, not for each who has it."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.core.measuring.family import Family, MetricKind
from mqframe_quotas.rules.book import Counted
from mqframe_quotas.rules.limits import COUNTS, RATES, Quota

_LABELS = ("kind", "name", "limit")


def families(counted: Iterable[tuple[Quota, Counted, dict[str, int]]]) -> list[Family]:
    """The metrics of quotas. `counted`: each, what was counted of it, and what is in use of it."""
    limits = _family("limit", MetricKind.GAUGE, "What each may have that the quota is for.")
    used = _family("used_total", MetricKind.COUNTER, "Bytes and messages that passed, of all of them.")
    in_use = _family("in_use", MetricKind.GAUGE, "Connections and sends in flight, of all of them.")
    throttled = _family("throttled_total", MetricKind.COUNTER, "Requests refused and reads held for it.")
    for quota, numbers, counts in counted:
        for limit, most in quota.limits.items():
            labels = (*quota.key, limit)
            limits.add(most, *labels)
            throttled.add(numbers.throttled[limit], *labels)
            if limit in RATES:
                used.add(numbers.used[limit], *labels)
            if limit in COUNTS:
                in_use.add(counts[limit], *labels)
    return [limits, used, in_use, throttled]


def _family(name: str, kind: MetricKind, meaning: str) -> Family:
    return Family(f"mqframe_quota_{name}", kind, meaning, _LABELS)
