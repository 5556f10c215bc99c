"""Settings of consumers."""

from __future__ import annotations

import sys
from pathlib import Path

from mqframe.core.pull_flow import FlowLimits
from mqframe.core.retry_rules import RETRIES_MAX
from mqframe.core.settings import at_least, setting, settings, within

_MIB = 1024 * 1024


@settings("consumer")
class ConsumerSettings:
    """How messages are pulled and handed to listeners."""

    consume_threads: int = setting(
        20,
        doc="threads that listeners run in, count",
        check=within(1, 1000),
        conf="consumeThreadMax",
    )
    consume_tasks: int = setting(
        64, doc="calls of `async def` listeners under way at once, count", check=within(1, 10_000)
    )
    consume_message_batch_max_size: int = setting(
        1,
        doc="messages that a listener gets at once, unless it says otherwise, count",
        check=within(1, 1024),
        conf="consumeMessageBatchMaxSize",
    )
    consume_timeout_seconds: float = setting(
        900.0,
        doc="a message that is not done with for so long, its wait in the client included, has failed, s",
        check=at_least(0.001),
    )
    max_reconsume_times: int = setting(
        -1,
        doc="a message that failed so often becomes a dead letter; -1: 16, and in order: never, count",
        check=within(-1, 2**31 - 1),
        conf="maxReconsumeTimes",
    )
    suspend_current_queue_time_millis: int = setting(
        1000,
        doc="pause of a queue consumed in order after a failure, unless its listener says otherwise, ms",
        check=within(10, 30_000),
        conf="suspendCurrentQueueTimeMillis",
    )
    pull_messages_max: int = setting(
        32, doc="messages that one pull asks for, count", check=within(1, 1024), conf="pullBatchSize"
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
    pull_interval_seconds: float = setting(
        0.0, doc="pause between two pulls of a queue that found something, s", check=within(0, 65.535)
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
    topic_messages_max: int = setting(
        0,
        doc="messages held of a topic, shared by its owned queues; 0: each queue has its own limit, count",
        check=at_least(0),
    )
    topic_bytes_max: int = setting(
        0, doc="bytes held of a topic, shared likewise; 0: each queue has its own limit", check=at_least(0)
    )
    held_bytes_max: int = setting(
        512 * _MIB, doc="bytes held of all queues together before pulls wait", check=at_least(1)
    )
    rebalance_seconds: float = setting(
        20.0, doc="how often the queues are shared anew, s", check=at_least(0.01)
    )
    stop_seconds: float = setting(
        30.0, doc="how long a stop waits for running listeners, s", check=at_least(0)
    )
    offset_directory: Path = setting(
        factory=lambda: Path.home() / ".rocketmq_offsets", doc="where local offset stores keep their files"
    )

    @property
    def returns_max(self) -> int:
        """How often a message comes back before it is a dead letter, where it is not consumed in order."""
        return RETRIES_MAX if self.max_reconsume_times < 0 else self.max_reconsume_times

    @property
    def queue_limits(self) -> FlowLimits:
        """The limits of one queue."""
        return FlowLimits(self.queue_messages_max, self.queue_bytes_max, self.queue_span_max)

    @property
    def ordered_queue_limits(self) -> FlowLimits:
        """The limits of one queue that is consumed in order, where the distance of offsets says nothing."""
        return FlowLimits(self.queue_messages_max, self.queue_bytes_max, sys.maxsize)
