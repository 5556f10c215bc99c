"""What is said of a message that a listener consumed at an operator's will.

Source: consumeMessageDirectly of ConsumeMessageConcurrentlyService and ConsumeMessageOrderlyService.
"""

from __future__ import annotations

from typing import Final

from mqframe.core.consume_result import ConsumeResult
from mqframe.core.consumer_info import DirectOutcome, DirectResult

_OUTCOMES: Final[dict[object, DirectOutcome]] = {
    ConsumeResult.SUCCESS: DirectOutcome.SUCCESS,
    ConsumeResult.RECONSUME_LATER: DirectOutcome.LATER,
}


def direct_result(
    result: object, error: BaseException | None, seconds: float, *, ordered: bool
) -> DirectResult:
    """The answer for a listener that gave `result` or raised `error` after `seconds`.

    Every other `ConsumeResult` asks for another try; what is none counts as nothing at all.
    """
    remark = None
    if error is not None:
        outcome = DirectOutcome.THROW_EXCEPTION
        remark = f"{type(error).__name__}: {error}"
    elif isinstance(result, ConsumeResult):
        outcome = _OUTCOMES.get(result, DirectOutcome.LATER)
    else:
        outcome = DirectOutcome.RETURN_NULL
    return DirectResult(
        consume_result=outcome, order=ordered, remark=remark, spent_time_mills=int(seconds * 1000)
    )
