"""Which failed sends are tried again, and when.

A broker that is busy or restarts is no failure yet: as long as it is certain that nothing was stored, a send
goes on within its time, with pauses. That is ours; whatever else happened is tried again as the reference
does, which treats its two ways of sending differently. A send whose answer is awaited is tried again after
every failure on the way, and after the answers in `RETRY_CODES` (DefaultMQProducerImpl.sendDefaultImpl,
DefaultMQProducer.retryResponseCodes). Of a send with a callback other answers are final; failures on the way
are tried again (MQClientAPIImpl.sendMessageAsync, onExceptionImpl).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

import attrs

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AccessError, AnswerError, CallTimeout, ConnectionLost, MqframeError
from mqframe.core.retry.backoff import Pauses
from mqframe.core.retry.passing import is_passing, told_seconds

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
STORED_CODES: Final = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.FLUSH_SLAVE_TIMEOUT,
        ResponseCode.SLAVE_NOT_AVAILABLE,
    }
)
"""Answers that mean that the message is stored."""
UNCERTAIN: Final = "the message may or may not be stored"


@attrs.frozen
class RetryRules:
    """What is tried again.

    `retries`: tries after the first, those after problems that pass not counted; `codes`: answers tried
    again; `errors`: failures on the way that are; `not_store_ok`: whether a stored message whose flush or
    replica was late is sent again; `waits`: whether problems that pass are waited for.
    """

    retries: int
    codes: frozenset[int] = frozenset()
    errors: tuple[type[MqframeError], ...] = ()
    not_store_ok: bool = False
    waits: bool = True

    def allow(self, problem: MqframeError) -> bool:
        """Whether a problem that does not pass is tried again, as long as there are tries."""
        if isinstance(problem, AnswerError):
            # Who may not send here, may not elsewhere.
            return problem.code in self.codes and not isinstance(problem, AccessError)
        return isinstance(problem, self.errors)

    def after(self, problem: MqframeError) -> RetryRules | None:
        """The rules for what follows on one try that met `problem`, which does not pass; `None`: nothing."""
        if not self.retries or not self.allow(problem):
            return None
        return attrs.evolve(self, retries=self.retries - 1)


class Tries:
    """The tries of one send: decides what follows on each failed one, and what is raised in the end.

    `randomness`: as for pauses; `doubt`: what an earlier try met that may have stored the message.
    """

    __slots__ = ("_doubt", "_failed", "_left", "_pauses", "_rules", "tried")

    def __init__(
        self, rules: RetryRules, randomness: Callable[[], float], doubt: MqframeError | None = None
    ) -> None:
        self.tried: list[str] = []
        """The broker of each try that was begun; whoever makes one adds it."""
        self._rules = rules
        self._left = rules.retries
        self._pauses = Pauses(randomness)
        self._failed: set[str] = set()
        self._doubt = doubt

    def next_delay(
        self, problem: MqframeError, brokers: Collection[str], seconds_left: float
    ) -> float | None:
        """Seconds until the next try, when the last one met `problem`.

        `brokers`: all that may take the message. A problem that passes is followed by a pause once each of
        them had one. `None`: no more tries, because the problem is final or because time is up.
        """
        if problem.maybe_stored:
            self._doubt = self._doubt or problem
        if seconds_left <= 0:
            return None
        if not is_passing(problem):
            return 0.0 if self._rules.allow(problem) and self.take_one() else None
        if not self._rules.waits:
            return None
        self._failed.add(self.tried[-1])
        if not self._failed.issuperset(brokers):
            return 0.0
        self._failed.clear()
        return self._pauses.next_pause(seconds_left, told_seconds(problem))

    def take_one(self) -> bool:
        """Use one of the tries that are counted; returns whether there was one."""
        self._left -= 1
        return self._left >= 0

    @property
    def any_left(self) -> bool:
        """Whether tries that are counted are left."""
        return self._left > 0

    def explain(self, problem: MqframeError) -> MqframeError:
        """What is raised after the last try met `problem`.

        It says how often and where it was tried, and whether the message may be stored.
        """
        tried, doubt = self.tried, self._doubt
        many = f"tried {len(tried)} times, brokers {', '.join(dict.fromkeys(tried))}"
        if problem.maybe_stored:
            more = f"; {many}" if len(tried) > 1 else ""
            return type(problem)(f"{problem}; {UNCERTAIN}{more}")
        if doubt is not None:
            last = str(problem).removesuffix("; nothing was sent")  # true of that try only
            return type(doubt)(
                f"{doubt}; {UNCERTAIN}; {many}; the last one met {type(problem).__name__}: {last}"
            )
        if len(tried) > 1:
            problem.add_note(many)
        return problem


BOUND: Final = RetryRules(0)
"""For sends to a given queue, by selector or by sharding key: a repetition could overtake what follows."""
ONCE: Final = RetryRules(0, waits=False)


def awaited_rules(retries: int, more_codes: Iterable[int] = (), *, not_store_ok: bool = False) -> RetryRules:
    """Rules of a send whose answer is awaited."""
    return RetryRules(retries, RETRY_CODES.union(more_codes), (ConnectionLost, CallTimeout), not_store_ok)


def submitted_rules(retries: int) -> RetryRules:
    """Rules of a send whose result comes later."""
    return RetryRules(retries, frozenset(), (ConnectionLost, CallTimeout))
