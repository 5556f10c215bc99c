"""Which failed sends are tried again, and when.

The reference treats its two ways of sending differently; so do these rules. A send whose answer is awaited
is tried again after every failure on the way, and after the answers in `RETRY_CODES`
(DefaultMQProducerImpl.sendDefaultImpl, DefaultMQProducer.retryResponseCodes). Of a send with a callback an
answer is final; only failures on the way are tried again, full buffers excepted
(MQClientAPIImpl.sendMessageAsync, onExceptionImpl).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import attrs

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    AccessError,
    AnswerError,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    MqframeError,
    RouteError,
    TooMuchInFlight,
)
from mqframe.core.retry.backoff import backoff_seconds

RETRY_CODES: Final = frozenset(
    {
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.NO_PERMISSION,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
FLOW_CONTROL_CODES: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
"""Answers after which a retry waits instead of following at once."""

STORED_CODES: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
"""Answers that mean that the message is stored."""


@attrs.frozen
class RetryRules:
    """What is tried again.

    `retries`: tries after the first; `codes`: answers tried again; `errors`: failures on the way that
    are; `not_store_ok`: whether a stored message whose flush or replica was late is sent again.
    """

    retries: int
    codes: frozenset[int] = frozenset()
    errors: tuple[type[MqframeError], ...] = ()
    not_store_ok: bool = False

    def next_delay(
        self, tries: int, problem: MqframeError, seconds_left: float, randomness: Callable[[], float]
    ) -> float | None:
        """Seconds until the next try after `tries` tries, the last of which met `problem`.

        `None`: no more tries, because the problem is final or because time is up.
        """
        if tries > self.retries or seconds_left <= 0:
            return None
        if not isinstance(problem, AnswerError):
            return 0.0 if isinstance(problem, self.errors) else None
        if problem.code not in self.codes or isinstance(problem, AccessError):
            return None  # who may not send here, may not elsewhere
        if problem.code not in FLOW_CONTROL_CODES:
            return 0.0
        delay = backoff_seconds(tries, randomness)
        return delay if delay < seconds_left else None

    def after_one(self) -> RetryRules:
        """The rules for what is left once one try was made elsewhere."""
        return attrs.evolve(self, retries=max(0, self.retries - 1))


NEVER: Final = RetryRules(0)
"""For sends to a given queue, by selector or by sharding key, and for one-way sends."""


def awaited_rules(retries: int, more_codes: Iterable[int] = (), *, not_store_ok: bool = False) -> RetryRules:
    """Rules of a send whose answer is awaited."""
    errors = (ConnectError, ConnectionLost, CallTimeout, TooMuchInFlight, RouteError)
    return RetryRules(retries, RETRY_CODES.union(more_codes), errors, not_store_ok)


def submitted_rules(retries: int) -> RetryRules:
    """Rules of a send whose result comes later."""
    return RetryRules(retries, frozenset(), (ConnectError, ConnectionLost, CallTimeout))
