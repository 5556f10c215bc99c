"""How transactions end, counted by topic: commits, rollbacks, and how long commits were waited for.

Source: EndTransactionProcessor.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.measuring.family import Family, Kind
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage

_BOUNDS_SECONDS: Final = (5, 60, 600, 3600, 12 * 3600, 24 * 3600)


class TransactionEnds:
    """Counts the ends of halves, each once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._commits: Counter[str] = Counter()
        self._rollbacks: Counter[str] = Counter()
        self._ages: dict[str, Histogram] = {}

    def committed(self, half: ReceivedMessage) -> None:
        """The messages that `half` stands for are stored."""
        topic = half.properties.get(p.REAL_TOPIC, "")
        self._commits[topic] += 1
        ages = self._ages.get(topic)
        if ages is None:
            ages = self._ages[topic] = Histogram(_BOUNDS_SECONDS)
        ages.add(max(0, self._clock.now_ms() - half.born_timestamp) // 1000)

    def rolled_back(self, half: ReceivedMessage) -> None:
        """The messages that `half` stands for will not be."""
        self._rollbacks[half.properties.get(p.REAL_TOPIC, "")] += 1

    def families(self) -> Sequence[Family]:
        """All of that. The latency is in seconds, whatever its name says, as the reference's is."""
        commits = Family(
            "rocketmq_commit_messages_total", Kind.COUNTER, "Transactions that were committed.", ("topic",)
        )
        rollbacks = Family(
            "rocketmq_rollback_messages_total", Kind.COUNTER, "Transactions rolled back.", ("topic",)
        )
        ages = Family(
            "rocketmq_finish_message_latency_milliseconds",
            Kind.HISTOGRAM,
            "From a half message's birth to its commit, seconds.",
            ("topic",),
        )
        for topic, count in self._commits.items():
            commits.add(count, topic)
        for topic, count in self._rollbacks.items():
            rollbacks.add(count, topic)
        for topic, histogram in self._ages.items():
            ages.add(histogram, topic)
        return commits, rollbacks, ages
