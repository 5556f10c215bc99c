"""What a consumer counts of each topic: listeners' time and success, pulls' time and yield.

Source: ConsumerStatsManager.java.
"""

from __future__ import annotations

from collections.abc import Collection

from mqframe.core.clock import Clock
from mqframe.core.consuming.running_info import ConsumeStatus
from mqframe.core.measuring.sampled import Sampled


class TopicStatistics:
    """The counts of one topic. Times are kept in whole microseconds."""

    __slots__ = ("consume_time", "failed", "ok", "pull_time", "pulled")

    def __init__(self, now: float) -> None:
        self.ok = Sampled(now)
        self.failed = Sampled(now)
        self.consume_time = Sampled(now)
        self.pulled = Sampled(now)
        self.pull_time = Sampled(now)

    def all(self) -> tuple[Sampled, ...]:
        """Every count."""
        return self.ok, self.failed, self.consume_time, self.pulled, self.pull_time


class ConsumerStatistics:
    """The counts of one consumer. Belongs to its loop; holds what `keep` lets it."""

    __slots__ = ("_clock", "_topics")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._topics: dict[str, TopicStatistics] = {}

    @property
    def topics(self) -> list[str]:
        """The topics that something was counted of, sorted."""
        return sorted(self._topics)

    def consumed(self, topic: str, ok: int, failed: int, seconds: float, calls: int = 1) -> None:
        """A listener took `seconds`, in so many calls, for `ok` messages that succeeded and `failed` ones
        that did not."""
        topics = self._topics.get(topic) or self._new(topic)
        if ok:
            topics.ok.total += ok
            topics.ok.times += calls
        if failed:
            topics.failed.total += failed
            topics.failed.times += 1
        topics.consume_time.total += int(seconds * 1e6)
        topics.consume_time.times += calls

    def pulled(self, topic: str, count: int, seconds: float) -> None:
        """A pull that found `count` messages took `seconds`."""
        topics = self._topics.get(topic) or self._new(topic)
        topics.pulled.total += count
        topics.pulled.times += 1
        topics.pull_time.total += int(seconds * 1e6)
        topics.pull_time.times += 1

    def sample(self) -> None:
        """Remember what there is; to be called every 10 s."""
        now = self._clock.monotonic()
        for topic in self._topics.values():
            for each in topic.all():
                each.sample(now)

    def keep(self, topics: Collection[str]) -> None:
        """Forget all topics but these."""
        for name in [name for name in self._topics if name not in topics]:
            del self._topics[name]

    def status(self, topic: str) -> ConsumeStatus:
        """The rates of `topic`; all 0 when nothing was counted."""
        found = self._topics.get(topic)
        if found is None:
            return ConsumeStatus()
        now = self._clock.monotonic()
        consume_time = found.consume_time.minute(now)
        if not consume_time.sum:
            consume_time = found.consume_time.hour(now)
        return ConsumeStatus(
            consume_failed_msgs=found.failed.hour(now).sum,
            consume_failed_tps=round(found.failed.minute(now).per_second, 2),
            consume_ok_tps=round(found.ok.minute(now).per_second, 2),
            consume_rt=round(consume_time.per_call / 1000, 2),
            pull_rt=round(found.pull_time.minute(now).per_call / 1000, 2),
            pull_tps=round(found.pulled.minute(now).per_second, 2),
        )

    def _new(self, topic: str) -> TopicStatistics:
        made = self._topics[topic] = TopicStatistics(self._clock.monotonic())
        return made
