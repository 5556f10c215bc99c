"""How transactions end, counted by topic: commits, rollbacks, and how long commits were waited for.

Source: EndTransactionProcessor.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.measuring.family import Family, Labels, MetricKind, MetricTable, Row, key_in
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage

_BOUNDS_SECONDS: Final = (5, 60, 600, 3600, 12 * 3600, 24 * 3600)


class TransactionEnds:
    """Counts the ends of halves, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rollbacks: Counter[Labels | None] = Counter()
        self._commits: dict[Labels | None, Histogram] = {}

    def committed(self, half: ReceivedMessage) -> None:
        """The messages that `half` stands for are stored."""
        key = key_in(self._commits, _topic(half))
        ages = self._commits.get(key)
        if ages is None:
            ages = self._commits[key] = Histogram(_BOUNDS_SECONDS)
        ages.add(max(0, self._clock.now_ms() - half.born_timestamp) // 1000)

    def rolled_back(self, half: ReceivedMessage) -> None:
        """The messages that `half` stands for will not be."""
        self._rollbacks[key_in(self._rollbacks, _topic(half))] += 1

    def tables(self) -> Sequence[MetricTable]:
        """All of that. The latency is in seconds, whatever its name says, as the reference's is."""
        commits = Family(
            "rocketmq_commit_messages_total",
            MetricKind.COUNTER,
            "Transactions that were committed.",
            ("topic",),
        )
        rollbacks = Family(
            "rocketmq_rollback_messages_total", MetricKind.COUNTER, "Transactions rolled back.", ("topic",)
        )
        ages = Family(
            "rocketmq_finish_message_latency_milliseconds",
            MetricKind.HISTOGRAM,
            "From a half message's birth to its commit, seconds.",
            ("topic",),
        )
        return MetricTable((commits, ages), self._committed()), MetricTable((rollbacks,), self._rolled_back())

    async def _committed(self) -> AsyncIterator[Row]:
        for key in tuple(self._commits):
            ages = self._commits[key]
            yield key, (sum(ages.counts), ages)

    async def _rolled_back(self) -> AsyncIterator[Row]:
        for key in tuple(self._rollbacks):
            yield key, (self._rollbacks[key],)


def _topic(half: ReceivedMessage) -> Labels:
    return (half.properties.get(p.REAL_TOPIC, ""),)
