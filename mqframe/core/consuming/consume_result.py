"""Results of listeners, and what follows from them."""

from __future__ import annotations

from enum import Enum
from typing import Final

from mqframe.core.consuming.running_info import DirectOutcome, DirectResult

ACKNOWLEDGE_ALL: Final = 2**31 - 1
"""The `ack_index` that acknowledges a whole batch, however long (Integer.MAX_VALUE in Apache RocketMQ)."""


class ConsumeResult(Enum):
    """What a listener answers. The last two mean the same: a consumer in order retries in place, another
    sends the messages back."""

    SUCCESS = "success"
    RECONSUME_LATER = "reconsume_later"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "suspend_current_queue_a_moment"


class ConsumeOutcome(Enum):
    """How a call of a listener ended, in the words of consume hooks."""

    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"
    EXCEPTION = "exception"
    NULL = "null"


def outcome(
    result: object, error: BaseException | None, elapsed_seconds: float, timeout_seconds: float
) -> ConsumeOutcome:
    """How a call ended that returned `result` or raised `error` after `elapsed_seconds`.

    Source: the order of the cases in ConsumeMessageConcurrentlyService.ConsumeRequest.run.
    """
    if error is not None:
        return ConsumeOutcome.EXCEPTION
    if not isinstance(result, ConsumeResult):
        return ConsumeOutcome.NULL
    if elapsed_seconds >= timeout_seconds:
        return ConsumeOutcome.TIMEOUT
    return ConsumeOutcome.SUCCESS if result is ConsumeResult.SUCCESS else ConsumeOutcome.FAILED


def acknowledged(result: object, ack_index: int, count: int) -> int:
    """How many messages from the front of a batch of `count` are done with.

    `ack_index`: index of the last message that succeeded; it counts only together with SUCCESS.
    """
    if result is not ConsumeResult.SUCCESS:
        return 0
    return count if ack_index >= count else max(0, ack_index + 1)


_OUTCOMES: Final[dict[object, DirectOutcome]] = {
    ConsumeResult.SUCCESS: DirectOutcome.SUCCESS,
    ConsumeResult.RECONSUME_LATER: DirectOutcome.LATER,
}


def direct_result(
    result: object, error: BaseException | None, seconds: float, *, ordered: bool, wrong: str | None = None
) -> DirectResult:
    """The answer of CONSUME_MESSAGE_DIRECTLY 309 where a listener returned `result` or raised `error`
    after `seconds`. `wrong`: what to say of a result that is none.

    Every other `ConsumeResult` asks for another try; what is none counts as nothing at all. Source:
    consumeMessageDirectly of ConsumeMessageConcurrentlyService and ConsumeMessageOrderlyService.
    """
    remark = None
    if error is not None:
        outcome = DirectOutcome.THROW_EXCEPTION
        remark = f"{type(error).__name__}: {error}"
    elif isinstance(result, ConsumeResult):
        outcome = _OUTCOMES.get(result, DirectOutcome.LATER)
    else:
        outcome = DirectOutcome.RETURN_NULL
        remark = wrong
    return DirectResult(
        consume_result=outcome, order=ordered, remark=remark, spent_time_mills=int(seconds * 1000)
    )
