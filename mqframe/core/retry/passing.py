"""Problems that pass by themselves: a server that is busy, restarts, or was replaced a moment ago."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AccessError, AnswerError, MqframeError, RetryError

BUSY_CODES: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
"""Answers of a broker that has more to do than it can."""
PASSING_CODES: Final = BUSY_CODES | {ResponseCode.SERVICE_NOT_AVAILABLE}
"""Answers that mean that nothing was done, and that it may be in a moment."""


def is_passing(problem: MqframeError) -> bool:
    """Whether it is certain that a try which met `problem` did nothing, and the next one may do better."""
    if isinstance(problem, AnswerError):
        return problem.code in PASSING_CODES and not isinstance(problem, AccessError)
    return isinstance(problem, RetryError) and not problem.maybe_stored
