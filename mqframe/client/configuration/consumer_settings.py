"""Settings of push consumers."""

from __future__ import annotations

import sys

import attrs

from mqframe.client.configuration.fetch_options import FetchOptions, FetchSettings
from mqframe.core.config.settings import at_least, one_of, setting, settings, within
from mqframe.core.consuming.consume_rules import OnDecodeError
from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits
from mqframe.core.consuming.queue_locks import LOCK_TIMES, LockTimes
from mqframe.core.errors import SettingError
from mqframe.net.clock import LoopClock


@settings("consumer")
class ConsumerSettings(FetchSettings):
    """How messages are pulled and handed to listeners."""

    consume_threads: int = setting(
        20, doc="threads that listeners run in, count", check=within(1, 1000), conf="consumeThreadMax"
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
        doc="a message that failed so often becomes a dead letter; -1 and 0: as often as its group says; "
        "in order: 0 at once, -1 never, count",
        check=within(-1, 2**31 - 1),
        conf="maxReconsumeTimes",
    )
    on_decode_error: str = setting(
        OnDecodeError.DEAD_LETTER.value,
        doc="what becomes of messages whose bodies cannot be decoded: dead_letter, retry or drop",
        check=one_of(*(each.value for each in OnDecodeError)),
    )
    answers_requests: bool = setting(
        True,
        doc="requests that wait for a reply are for this group to answer: those whose time to live is over"
        " are dropped, and who waits is told of a failure; off for groups that only look at them",
    )
    suspend_current_queue_time_millis: int = setting(
        1000,
        doc="pause of a queue consumed in order after a failure, unless its listener says otherwise, ms",
        check=within(10, 30_000),
        conf="suspendCurrentQueueTimeMillis",
    )
    lock_renew_seconds: float = setting(
        LOCK_TIMES.renewed,
        doc="how often the brokers' locks of queues consumed in order are renewed, s",
        check=at_least(0.1),
    )
    lock_trust_seconds: float = setting(
        LOCK_TIMES.trusted,
        doc="listeners run so long after a lock was renewed; below lock_lease_seconds, above"
        " lock_renew_seconds, s",
        check=at_least(0.1),
    )
    lock_lease_seconds: float = setting(
        LOCK_TIMES.lease,
        doc="another member may have a lock that was not renewed for so long; at most what the brokers say"
        " (broker.queue_lock_seconds), s",
        check=at_least(0.1),
    )
    pull_interval_seconds: float = setting(
        0.0, doc="pause between two pulls of a queue that found something, s", check=within(0, 65.535)
    )
    topic_messages_max: int = setting(
        0,
        doc="messages held of a topic, shared by its owned queues; 0: each queue has its own limit, count",
        check=at_least(0),
    )
    topic_bytes_max: int = setting(
        0, doc="bytes held of a topic, shared likewise; 0: each queue has its own limit", check=at_least(0)
    )
    stop_seconds: float = setting(
        30.0, doc="how long a stop waits for running listeners, s", check=at_least(0)
    )

    def __attrs_post_init__(self) -> None:
        if fault := self.lock_times.fault:
            raise SettingError(
                f"{fault}: consumer.lock_renew_seconds = {self.lock_renew_seconds:g}, lock_trust_seconds ="
                f" {self.lock_trust_seconds:g}, lock_lease_seconds = {self.lock_lease_seconds:g}"
            )

    @property
    def lock_times(self) -> LockTimes:
        """How long locks of queues are trusted, and how often they are renewed."""
        return LockTimes(self.lock_lease_seconds, self.lock_trust_seconds, self.lock_renew_seconds)

    @property
    def returns_max(self) -> int | None:
        """How often a message comes back before it is a dead letter, where it is not consumed in order.

        `None`: brokers go by its group (`SubscriptionGroupConfig.retry_max_times`).
        """
        return self.max_reconsume_times if self.max_reconsume_times > 0 else None

    def fetch_options(self, group: str, clock: LoopClock, *, ordered: bool) -> FetchOptions:
        """How `group` pulls; where it consumes in order the distance of offsets says nothing."""
        span = sys.maxsize if ordered else self.queue_span_max
        limits = FetchLimits(
            queue=FlowLimits(self.queue_messages_max, self.queue_bytes_max, span),
            topic_messages_max=self.topic_messages_max,
            topic_bytes_max=self.topic_bytes_max,
            held_bytes_max=self.held_bytes_max,
        )
        return attrs.evolve(self.options(group, clock, limits), interval_seconds=self.pull_interval_seconds)
