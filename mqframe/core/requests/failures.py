"""What a caller is answered for each kind of error: the one place where errors get response codes."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    FixedSetting,
    FixError,
    MessageError,
    MqframeError,
    Refusal,
    RetryError,
    StoreUnavailable,
)
from mqframe.core.requests.serving import Reply
from mqframe.core.storage.outcome import Outcome

_CODES: Final[tuple[tuple[type[MqframeError], ResponseCode], ...]] = (
    (MessageError, ResponseCode.MESSAGE_ILLEGAL),
    (StoreUnavailable, ResponseCode.SERVICE_NOT_AVAILABLE),
    (FixedSetting, ResponseCode.NO_PERMISSION),
    (FixError, ResponseCode.SYSTEM_ERROR),
)


def refused(problem: Exception) -> Refusal:
    """`problem` as what the caller is answered; a `Refusal` is itself.

    What is no fault of the request, nor a full disk, becomes SYSTEM_ERROR with the name of its class.
    """
    if isinstance(problem, Refusal):
        return problem
    for kind, code in _CODES:
        if isinstance(problem, kind):
            return Refusal(code, str(problem))
    return Refusal(ResponseCode.SYSTEM_ERROR, f"{type(problem).__name__}: {problem}")


_PASSING: Final = frozenset(
    {
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
        ResponseCode.FLOW_CONTROL,
    }
)


def may_pass(problem: Exception) -> bool:
    """Whether `problem` is one of the whole broker, and over some day: it is full, stopping, its disk fails.

    Any other error is that of the message or request that was worked on, and would come again with it.
    """
    if isinstance(problem, Refusal):
        return problem.code in _PASSING
    return isinstance(problem, StoreUnavailable | RetryError | OSError | MemoryError)


_UNCONFIRMED: Final = {
    Outcome.NOT_ON_DISK: ResponseCode.FLUSH_DISK_TIMEOUT,
    Outcome.NOT_COPIED: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    Outcome.TOO_FEW_COPIES: ResponseCode.SLAVE_NOT_AVAILABLE,
}


def status_code(outcome: Outcome) -> ResponseCode:
    """What whoever stored something is answered; SUCCESS when it is confirmed."""
    return ResponseCode.SUCCESS if outcome is Outcome.CONFIRMED else _UNCONFIRMED[outcome]


def not_confirmed(outcome: Outcome, what: str, then: str) -> Reply:
    """The answer when `what` was stored and is not confirmed; `then`: what may come of it."""
    return Reply(status_code(outcome), remark=f"{what} {outcome.value}: {then}")


def is_expected(problem: Exception) -> bool:
    """Whether `problem` is one of those that requests or a full disk cause; others belong into the log."""
    return isinstance(problem, Refusal | StoreUnavailable | FixError)
