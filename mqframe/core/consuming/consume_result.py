"""What a listener said of a batch, and what follows from it."""

from __future__ import annotations

from enum import Enum
from typing import Final

ACKNOWLEDGE_ALL: Final = 2**31 - 1
"""The `ack_index` that acknowledges a whole batch, however long (Integer.MAX_VALUE in the reference)."""


class ConsumeResult(Enum):
    """What a listener answers. The last two mean the same: a consumer in order retries in place, another
    hands the messages back."""

    SUCCESS = "success"
    RECONSUME_LATER = "reconsume_later"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "suspend_current_queue_a_moment"


class Outcome(Enum):
    """How a call of a listener ended, in the words of consume hooks."""

    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"
    EXCEPTION = "exception"
    NULL = "null"


def outcome(
    result: object, error: BaseException | None, elapsed_seconds: float, timeout_seconds: float
) -> Outcome:
    """How a call ended that gave `result` or raised `error` after `elapsed_seconds`.

    Source: the order of the cases in ConsumeMessageConcurrentlyService.ConsumeRequest.run.
    """
    if error is not None:
        return Outcome.EXCEPTION
    if not isinstance(result, ConsumeResult):
        return Outcome.NULL
    if elapsed_seconds >= timeout_seconds:
        return Outcome.TIMEOUT
    return Outcome.SUCCESS if result is ConsumeResult.SUCCESS else Outcome.FAILED


def acknowledged(result: object, ack_index: int, count: int) -> int:
    """How many messages from the front of a batch of `count` are done with.

    `ack_index`: index of the last message that succeeded; it counts only together with SUCCESS.
    """
    if result is not ConsumeResult.SUCCESS:
        return 0
    return max(0, min(ack_index + 1, count))
