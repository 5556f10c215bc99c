"""The running info of consumers: JSON bodies of 221, 223, 307 and 309.

Field names, the misspelt `droped` too, are the wire's. Source: ConsumerRunningInfo.java,
ProcessQueueInfo.java, ConsumeStatus.java, GetConsumerStatusBody.java, ConsumeMessageDirectlyResult.java.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import msgspec

from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire.bodies import Body

NAMESERVERS: Final = "PROP_NAMESERVER_ADDR"
THREADS: Final = "PROP_THREADPOOL_CORE_SIZE"
ORDERLY: Final = "PROP_CONSUMEORDERLY"
CONSUME_TYPE: Final = "PROP_CONSUME_TYPE"
CLIENT_VERSION: Final = "PROP_CLIENT_VERSION"
EXPIRED_REQUESTS: Final = "MQFRAME_EXPIRED_REQUESTS"
"""Requests that were dropped, since nobody waited for their replies any more."""
PAUSED: Final = "MQFRAME_PAUSED_QUEUES"
START_TIME: Final = "PROP_CONSUMER_START_TIMESTAMP"


class ConsumerStatus(Body):
    """Offsets that members remember: of one in `message_queue_table`, of several by client id."""

    consumer_table: dict[str, dict[Any, int]] = {}
    message_queue_table: dict[Any, int] = {}


class ProcessQueueInfo(Body):
    """What a member holds of one queue. Offsets count messages, times are in ms."""

    cached_msg_count: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_size_in_mib: int = msgspec.field(default=0, name="cachedMsgSizeInMiB")
    commit_offset: int = 0
    dropped: bool = msgspec.field(default=False, name="droped")
    last_consume_timestamp: int = 0
    last_lock_timestamp: int = 0
    last_pull_timestamp: int = 0
    locked: bool = False
    transaction_msg_count: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_min_offset: int = 0
    try_unlock_times: int = 0


class PopQueueInfo(Body):
    """What a member that pops knows of one queue."""

    dropped: bool = msgspec.field(default=False, name="droped")
    last_pop_timestamp: int = 0
    wait_ack_count: int = 0


class ConsumeStatus(Body):
    """Rates of one topic. Times in ms, rates in messages a second, over the last minute.

    `consume_failed_msgs`: over the last hour.
    """

    consume_failed_msgs: int = 0
    consume_failed_tps: float = msgspec.field(default=0.0, name="consumeFailedTPS")
    consume_ok_tps: float = msgspec.field(default=0.0, name="consumeOKTPS")
    consume_rt: float = msgspec.field(default=0.0, name="consumeRT")
    pull_rt: float = msgspec.field(default=0.0, name="pullRT")
    pull_tps: float = msgspec.field(default=0.0, name="pullTPS")


class ConsumerRunningInfo(Body):
    """Running info of one member. `jstack`: what its threads do, when that was asked for."""

    jstack: str | None = None
    mq_pop_table: dict[Any, PopQueueInfo] = {}
    mq_table: dict[Any, ProcessQueueInfo] = {}
    properties: dict[str, str] = {}
    status_table: dict[str, ConsumeStatus] = {}
    subscription_set: list[SubscriptionData] = []
    user_consumer_info: dict[str, str] = {}

    @property
    def queues(self) -> dict[MessageQueue, ProcessQueueInfo]:
        """What is held of each queue, sorted."""
        return dict(sorted(self.mq_table.items()))


class DirectOutcome(Enum):
    """What came of a message that was consumed at an operator's will (CMResult.java)."""

    SUCCESS = "CR_SUCCESS"
    LATER = "CR_LATER"
    ROLLBACK = "CR_ROLLBACK"
    COMMIT = "CR_COMMIT"
    THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    RETURN_NULL = "CR_RETURN_NULL"


class DirectResult(Body):
    """What came of it. `spent_time_mills`: ms in the listener; `remark`: what it raised."""

    auto_commit: bool = True
    consume_result: DirectOutcome | None = None
    order: bool = False
    remark: str | None = None
    spent_time_mills: int = 0
