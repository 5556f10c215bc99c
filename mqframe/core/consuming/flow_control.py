"""When a queue is pulled again: client flow control and what each kind of failure costs (system.md §4)."""

from __future__ import annotations

from typing import Final, NamedTuple

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError
from mqframe.core.process_queue import ProcessQueue

HELD_BACK_SECONDS: Final = 0.05
"""After flow control held a pull back."""
SUSPENDED_SECONDS: Final = 1.0
"""While the application has suspended consumption."""
ERROR_SECONDS: Final = 3.0
"""After a pull that failed."""
BUSY_SECONDS: Final = 0.02
"""After the broker's flow control refused a pull (PULL_TIME_DELAY_MILLS_WHEN_BROKER_FLOW_CONTROL)."""


class FlowLimits(NamedTuple):
    """What may be held of one queue before pulls wait: messages, bytes of records, distance of offsets."""

    messages_max: int
    bytes_max: int
    span_max: int


def shared_limits(queue: FlowLimits, topic_messages_max: int, topic_bytes_max: int, owned: int) -> FlowLimits:
    """The limits of each of `owned` queues of a topic, whose own limits (0: none) divide over them."""
    owned = max(1, owned)
    return FlowLimits(
        max(1, topic_messages_max // owned) if topic_messages_max else queue.messages_max,
        max(1, topic_bytes_max // owned) if topic_bytes_max else queue.bytes_max,
        queue.span_max,
    )


def held_back_by(held: ProcessQueue, limits: FlowLimits) -> str | None:
    """The limit that keeps `held` from being pulled now, in words; `None` when it may be pulled."""
    if held.message_count > limits.messages_max:
        return f"{held.message_count} messages held, limit {limits.messages_max}"
    if held.byte_count > limits.bytes_max:
        return f"{held.byte_count} bytes held, limit {limits.bytes_max}"
    if held.span > limits.span_max:
        return f"offsets span {held.span}, limit {limits.span_max}"
    return None


def has_room(held: ProcessQueue, limits: FlowLimits) -> bool:
    """Whether a queue that was held back has drained to half its limits, so that it need not wait longer."""
    return (
        held.message_count <= limits.messages_max >> 1
        and held.byte_count <= limits.bytes_max >> 1
        and held.span <= limits.span_max
    )


def seconds_after(error: Exception) -> float:
    """How long to wait after a pull that raised `error`."""
    if isinstance(error, AnswerError) and error.code == ResponseCode.FLOW_CONTROL:
        return BUSY_SECONDS
    return ERROR_SECONDS


def wants_heartbeat(error: Exception) -> bool:
    """Whether the broker does not know this member's subscription (any more), so that it must be told."""
    return isinstance(error, AnswerError) and error.code in (
        ResponseCode.SUBSCRIPTION_NOT_EXIST,
        ResponseCode.SUBSCRIPTION_NOT_LATEST,
        ResponseCode.FILTER_DATA_NOT_EXIST,
        ResponseCode.FILTER_DATA_NOT_LATEST,
    )
