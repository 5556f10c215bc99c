"""Settings of lite pull consumers."""

from __future__ import annotations

from pathlib import Path

from mqframe.core.pull_flow import FlowLimits
from mqframe.core.settings import at_least, setting, settings, within

_MIB = 1024 * 1024


@settings("lite_pull")
class LitePullSettings:
    """How a lite pull consumer fetches ahead, and when it commits by itself."""

    auto_commit_seconds: float = setting(
        5.0, doc="a poll commits what earlier ones handed out so often, s", check=at_least(0.01)
    )
    poll_messages_max: int = setting(
        32, doc="messages that one poll hands out, count", check=within(1, 65_535)
    )
    pull_messages_max: int = setting(32, doc="messages that one pull asks for, count", check=within(1, 1024))
    pull_bytes_max: int = setting(256 * 1024, doc="bytes that one pull asks for", check=at_least(1))
    pull_wait_seconds: float = setting(
        10.0, doc="how long a broker may keep a pull waiting for messages, s", check=within(0, 60)
    )
    pull_timeout_seconds: float = setting(
        30.0, doc="longest wait for the answer of a pull, s", check=at_least(0.001)
    )
    error_seconds: float = setting(
        1.0, doc="pause of a queue after a pull that failed, s", check=at_least(0.001)
    )
    queue_messages_max: int = setting(
        1000,
        doc="messages held of one queue before pulls wait, count",
        check=within(1, 65_535),
    )
    queue_bytes_max: int = setting(
        100 * _MIB, doc="bytes held of one queue before pulls wait", check=at_least(1)
    )
    queue_span_max: int = setting(
        2000,
        doc="distance between the first and last offset held of one queue before pulls wait, count",
        check=within(1, 65_535),
    )
    held_messages_max: int = setting(
        10_000,
        doc="messages held of all queues together before pulls wait, count",
        check=at_least(1),
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

    @property
    def queue_limits(self) -> FlowLimits:
        """The limits of one queue."""
        return FlowLimits(self.queue_messages_max, self.queue_bytes_max, self.queue_span_max)
