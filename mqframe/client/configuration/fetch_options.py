"""How a consumer pulls: sizes, waits and limits of pulls (`queue_fetcher`)."""

from __future__ import annotations

from pathlib import Path

import attrs

from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe.core.consuming.flow_control import FetchLimits
from mqframe.core.retry.backoff import ERROR_SECONDS
from mqframe.net.clock import LoopClock

_MIB = 1024 * 1024


@settings("fetch")
class FetchSettings:
    """Settings of pulls and rebalances that push and lite pull consumers share."""

    pull_messages_max: int = setting(
        512,
        doc="messages that one pull asks for, count; Apache's brokers give no more than 32",
        check=within(1, 1024),
        conf="pullBatchSize",
    )
    pull_bytes_max: int = setting(
        256 * 1024, doc="bytes that one pull asks for", check=at_least(1), conf="pullBatchSizeInBytes"
    )
    pull_wait_seconds: float = setting(
        15.0, doc="how long a broker may keep a pull waiting for messages, s", check=within(0, 60)
    )
    pull_timeout_seconds: float = setting(
        30.0, doc="longest wait for the answer of a pull, s", check=at_least(0.001)
    )
    queue_messages_max: int = setting(
        1000,
        doc="messages held of one queue before pulls wait, count",
        check=within(1, 65_535),
        conf="pullThresholdForQueue",
    )
    queue_bytes_max: int = setting(
        100 * _MIB, doc="bytes held of one queue before pulls wait", check=at_least(1)
    )
    queue_span_max: int = setting(
        2000,
        doc="distance between the first and last offset held of one queue before pulls wait, count",
        check=within(1, 65_535),
        conf="consumeConcurrentlyMaxSpan",
    )
    held_bytes_max: int = setting(
        512 * _MIB, doc="bytes held of all queues together before pulls wait", check=at_least(1)
    )
    rebalance_seconds: float = setting(
        20.0, doc="how often the queues are shared anew, s", check=at_least(0.01)
    )
    offset_directory: Path = setting(
        factory=lambda: Path.home() / ".rocketmq_offsets", doc="where local offset stores keep their files"
    )

    def options(self, group: str, clock: LoopClock, limits: FetchLimits) -> FetchOptions:
        """How `group` pulls within `limits`, as far as both kinds of consumers do so alike."""
        return FetchOptions(
            group=group,
            clock=clock,
            limits=limits,
            messages_max=self.pull_messages_max,
            bytes_max=self.pull_bytes_max,
            wait_seconds=self.pull_wait_seconds,
            timeout_seconds=self.pull_timeout_seconds,
        )


@attrs.frozen(kw_only=True)
class FetchOptions:
    """How a group pulls.

    `messages_max`, `bytes_max`: asked for by one pull; `wait_seconds`: how long a broker may hold it;
    `interval_seconds`: pause after one that found something; `error_seconds`: longest pause after one that
    failed; `lite`: say that a lite pull consumer asks, and send the filter with each pull.
    """

    group: str
    clock: LoopClock
    limits: FetchLimits
    messages_max: int
    bytes_max: int
    wait_seconds: float
    timeout_seconds: float
    interval_seconds: float = 0.0
    error_seconds: float = ERROR_SECONDS
    lite: bool = False
