"""Problems that pass by themselves: a server that is busy, restarts, or was replaced a moment ago."""

from __future__ import annotations

import re
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AccessError, AnswerError, MqframeError, RetryError

BUSY_CODES: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
"""Answers of a broker that has more to do than it can."""
PASSING_CODES: Final = BUSY_CODES | {ResponseCode.SERVICE_NOT_AVAILABLE}
"""Answers that mean that nothing was done, and that it may be in a moment."""

_AGAIN: Final = re.compile(r"\bagain in (\d{1,9}) ms\b")


def is_passing(problem: MqframeError) -> bool:
    """Whether it is certain that a try which met `problem` did nothing, and the next one may do better."""
    if isinstance(problem, AnswerError):
        return problem.code in PASSING_CODES and not isinstance(problem, AccessError)
    return isinstance(problem, RetryError) and not problem.maybe_stored


def told_seconds(problem: MqframeError) -> float:
    """How long a broker that is busy asks to be left alone ("… again in 350 ms"), s; 0.0: not at all."""
    if not isinstance(problem, AnswerError) or problem.code not in BUSY_CODES:
        return 0.0
    told = _AGAIN.search(problem.remark or "")
    return int(told[1]) / 1000 if told else 0.0
