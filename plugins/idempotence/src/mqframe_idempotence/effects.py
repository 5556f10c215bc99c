"""What becomes of messages: handed to the listener, answered as duplicates, or put off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, Literal, Protocol

import attrs

from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL, ConsumeResult, acknowledged
from mqframe.core.errors import MqframeError, RetryError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger
from mqframe_idempotence.counts import Counts
from mqframe_idempotence.errors import InProgress, NoKey
from mqframe_idempotence.keys import KeyRule
from mqframe_idempotence.steps import Steps
from mqframe_idempotence.stores import Attempt, Claim, Store

log = get_logger("idempotence")
_SHOWN: int = 8
"""So many keys are named in a line of the log at most."""

Call = Callable[[Sequence[ReceivedMessage], Any], Any]
"""Calls the application with messages and the session; may return an awaitable."""
WhenAway = Literal["retry", "process"]


class Context(Protocol):
    """The part of a `ListenerContext` that is used."""

    ack_index: int
    delay_level_when_next_consume: int


class EffectVerdict(Enum):
    """What is to become of one message. `SAME`: the same as of an earlier one of the batch with its key."""

    CALL = "call"
    DONE = "done"
    SAME = "same"
    LATER = "later"


@attrs.frozen
class Begun:
    """Messages whose keys were claimed. `attempt`: `None` where there is nothing to finish."""

    messages: Sequence[ReceivedMessage]
    keys: Sequence[str | None]
    verdicts: Sequence[EffectVerdict]
    attempt: Attempt | None

    @property
    def session(self) -> Any:
        """What the listener is handed besides the messages."""
        return None if self.attempt is None else self.attempt.session


@attrs.frozen
class Effects:
    """Lets each key of `scope` have one effect.

    `when_away`: what to do when the store cannot be asked; `busy_delay_level`: when a message comes again
    whose key is being worked on, 0 leaves that to the broker.
    """

    store: Store
    scope: str
    rule: KeyRule
    counts: Counts
    when_away: WhenAway
    busy_delay_level: int

    def single(self, message: ReceivedMessage, call: Call) -> Steps[Any]:
        """Have one message handled; what the handler returned, `None` of a duplicate.

        Raises `InProgress`, what the key rule and the store raise, and what the handler raised.
        """
        begun = yield from self.begin([message])
        if begun.verdicts[0] is not EffectVerdict.CALL:
            yield from self.abandon(begun)
            self.refuse_busy(begun)
            return None
        result = yield from self._called(begun, [message], call)
        if isinstance(result, ConsumeResult) and result is not ConsumeResult.SUCCESS:
            self.counts.add("failed")
            yield from self.abandon(begun)
        else:
            yield from self.finish(begun, [0])
        return result

    def batch(
        self, messages: Sequence[ReceivedMessage], context: Context, call: Call, ordered: bool | None
    ) -> Steps[Any]:
        """Have those of a batch handled that are new; what a listener answers for all of them."""
        begun = yield from self.begin(messages)
        given = [n for n, verdict in enumerate(begun.verdicts) if verdict is EffectVerdict.CALL]
        if ordered and EffectVerdict.LATER in begun.verdicts:
            given = [n for n in given if n < begun.verdicts.index(EffectVerdict.LATER)]
        result: Any = ConsumeResult.SUCCESS
        if given:
            result = yield from self._called(begun, [messages[n] for n in given], call)
        ack_index = ACKNOWLEDGE_ALL if ordered else context.ack_index
        succeeded = given[: acknowledged(result, ack_index, len(given))]
        self.counts.add("failed", len(given) - len(succeeded))
        if succeeded:
            yield from self.finish(begun, succeeded)
        else:
            yield from self.abandon(begun)
        if result is not ConsumeResult.SUCCESS:
            return result
        return self._answer(begun, set(succeeded), context, ordered)

    def begin(self, messages: Sequence[ReceivedMessage]) -> Steps[Begun]:
        """Claim the keys of `messages`. Raises what the store raises, and `NoKey` of a lone message."""
        keys: list[str | None] = []
        keyless: set[int] = set()
        for number, message in enumerate(messages):
            try:
                keys.append(self.rule.key_of(message))
            except NoKey as problem:
                self.counts.add("failed")
                if len(messages) == 1:
                    raise
                log.warning("message has no key", scope=self.scope, reason=str(problem))
                keys.append(None)
                keyless.add(number)
        wanted = list(dict.fromkeys([key for key in keys if key is not None]))
        attempt: Attempt | None = None
        claims: dict[str, Claim] = dict.fromkeys(wanted, Claim.NEW)
        if wanted or (self.store.in_transaction and len(keyless) < len(keys)):
            attempt, claims = yield from self._claim(wanted, claims)
        verdicts: list[EffectVerdict] = []
        seen: set[str] = set()
        for number, key in enumerate(keys):
            if number in keyless:
                verdicts.append(EffectVerdict.LATER)
            elif key is None:
                self.counts.add("without_key")
                verdicts.append(EffectVerdict.CALL)
            elif key in seen and claims[key] is Claim.NEW:
                verdicts.append(EffectVerdict.SAME)
            else:
                seen.add(key)
                verdicts.append(_VERDICTS[claims[key]])
        self._note(keys, verdicts, claims)
        return Begun(messages, keys, verdicts, attempt)

    def finish(self, begun: Begun, succeeded: Sequence[int]) -> Steps[None]:
        """Note the effects of the messages with the numbers `succeeded`; give up the others.

        Raises where the effects are taken back with it. Else they are there though nobody knows; to have the
        messages come again would do them twice for certain.
        """
        attempt = begun.attempt
        keys = [key for key in (begun.keys[n] for n in succeeded) if key is not None]
        if attempt is not None:
            try:
                lost = yield partial(attempt.finish, keys)
            except MqframeError as problem:
                self._failed(problem)
                if self.store.in_transaction:
                    yield from self._released(attempt)
                    raise
                log.warning("effects could not be noted; later deliveries do them again", **self._shown(keys))
            else:
                self.counts.add("lost", lost)
                if lost:
                    log.warning("leases were over before the work was", count=lost, **self._shown(keys))
            finally:
                yield from self._closed(attempt)
        self.counts.add("effects", len(succeeded))

    def abandon(self, begun: Begun) -> Steps[None]:
        """Nothing of `begun` is to be kept. Raises nothing."""
        if begun.attempt is not None:
            yield from self._given_up(begun.attempt)

    def refuse_busy(self, begun: Begun) -> None:
        """Raises `InProgress` when the first message is to come again later."""
        if begun.verdicts[0] is EffectVerdict.LATER:
            problem = InProgress(
                f"key {begun.keys[0]!r} of {self.scope} is being worked on by another delivery; this one is"
                " to come again later"
            )
            problem.delay_level = self.busy_delay_level
            raise problem

    def _claim(
        self, wanted: Sequence[str], without: dict[str, Claim]
    ) -> Steps[tuple[Attempt | None, dict[str, Claim]]]:
        attempt: Attempt | None = None
        try:
            attempt = yield partial(self.store.open, self.scope)
            claims = yield partial(attempt.claim, wanted)
        except BaseException as problem:
            if attempt is not None:
                yield from self._given_up(attempt)
            if isinstance(problem, MqframeError):
                self._failed(problem)
            if (
                not isinstance(problem, RetryError)
                or self.store.in_transaction
                or self.when_away != "process"
            ):
                raise
            self.counts.add("without_store", len(wanted))
            return None, without
        return attempt, dict(claims)

    def _called(self, begun: Begun, messages: Sequence[ReceivedMessage], call: Call) -> Steps[Any]:
        try:
            return (yield partial(call, messages, begun.session))
        except BaseException:
            self.counts.add("failed", len(messages))
            yield from self.abandon(begun)
            raise

    def _given_up(self, attempt: Attempt) -> Steps[None]:
        yield from self._released(attempt)
        yield from self._closed(attempt)

    def _released(self, attempt: Attempt) -> Steps[None]:
        try:
            yield attempt.give_up
        except Exception as problem:  # what was wrong before counts more; leases and transactions end anyway
            log.warning("claims could not be given up", scope=self.scope, reason=repr(problem))

    def _closed(self, attempt: Attempt) -> Steps[None]:
        try:
            yield attempt.close
        except Exception as problem:  # nothing depends on it any more
            log.warning("store could not be let go of", scope=self.scope, reason=repr(problem))

    def _answer(
        self, begun: Begun, succeeded: set[int], context: Context, ordered: bool | None
    ) -> ConsumeResult:
        done_keys = {begun.keys[n] for n in succeeded}
        left = [
            number
            for number, verdict in enumerate(begun.verdicts)
            if not (
                verdict is EffectVerdict.DONE
                or number in succeeded
                or (verdict is EffectVerdict.SAME and begun.keys[number] in done_keys)
            )
        ]
        context.ack_index = ACKNOWLEDGE_ALL
        if not left:
            return ConsumeResult.SUCCESS
        if ordered:
            return ConsumeResult.SUSPEND_CURRENT_QUEUE_A_MOMENT
        put_off = EffectVerdict.LATER in begun.verdicts
        if put_off and self.busy_delay_level and not context.delay_level_when_next_consume:
            context.delay_level_when_next_consume = self.busy_delay_level
        if put_off and ordered is None:
            return ConsumeResult.RECONSUME_LATER
        context.ack_index = left[0] - 1
        return ConsumeResult.SUCCESS

    def _note(
        self, keys: Sequence[str | None], verdicts: Sequence[EffectVerdict], claims: dict[str, Claim]
    ) -> None:
        doubles = [
            k for k, v in zip(keys, verdicts, strict=True) if v in (EffectVerdict.DONE, EffectVerdict.SAME)
        ]
        busy = [k for k in keys if k is not None and claims[k] is Claim.BUSY]
        self.counts.add("duplicates", len(doubles))
        self.counts.add("in_progress", len(busy))
        if doubles:
            log.info("duplicates were suppressed", count=len(doubles), **self._shown(doubles))
        if busy:
            log.info("messages are put off: their keys are being worked on", **self._shown(busy))

    def _failed(self, problem: MqframeError) -> None:
        self.counts.add("store_failures")
        log.warning("store of keys failed", scope=self.scope, reason=f"{type(problem).__name__}: {problem}")

    def _shown(self, keys: Sequence[str | None]) -> dict[str, Any]:
        return {"scope": self.scope, "keys": list(keys[:_SHOWN])}


_VERDICTS = {Claim.NEW: EffectVerdict.CALL, Claim.DONE: EffectVerdict.DONE, Claim.BUSY: EffectVerdict.LATER}
