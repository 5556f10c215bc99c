"""Flow control of pulls: how much a consumer may hold of a queue, a topic and in all (behaviour.md §4)."""

from __future__ import annotations

import sys
from typing import NamedTuple

import attrs

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import AnswerError


class FlowLimits(NamedTuple):
    """The limits of one queue beyond which pulls wait: messages, bytes of records, distance of offsets."""

    messages_max: int
    bytes_max: int
    span_max: int


@attrs.frozen(kw_only=True)
class FetchLimits:
    """All limits beyond which pulls wait. `queue`: of one queue; the others of a topic (0: none; they divide
    over its assigned queues) and of all queues together, in messages and in bytes of records."""

    queue: FlowLimits
    topic_messages_max: int = 0
    topic_bytes_max: int = 0
    held_messages_max: int = sys.maxsize
    held_bytes_max: int = sys.maxsize

    def shared(self, owned: int) -> FlowLimits:
        """The limits of each of the `owned` queues of a topic."""
        queue, owned = self.queue, max(1, owned)
        return FlowLimits(
            max(1, self.topic_messages_max // owned) if self.topic_messages_max else queue.messages_max,
            max(1, self.topic_bytes_max // owned) if self.topic_bytes_max else queue.bytes_max,
            queue.span_max,
        )


class HeldTotals:
    """What is held of all queues together, kept as the sum of what was last counted of each."""

    __slots__ = ("_limits", "bytes", "messages")

    def __init__(self, limits: FetchLimits) -> None:
        self._limits = limits
        self.messages = 0
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Whether every pull waits."""
        return self.messages > self._limits.held_messages_max or self.bytes > self._limits.held_bytes_max

    def __str__(self) -> str:
        return f"{self.messages} messages of {self.bytes} bytes held of all queues"


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


def wants_heartbeat(error: Exception) -> bool:
    """Whether the broker does not know this member's subscription (any more), so that a heartbeat is due."""
    return isinstance(error, AnswerError) and error.code in (
        ResponseCode.SUBSCRIPTION_NOT_EXIST,
        ResponseCode.SUBSCRIPTION_NOT_LATEST,
        ResponseCode.FILTER_DATA_NOT_EXIST,
        ResponseCode.FILTER_DATA_NOT_LATEST,
    )
