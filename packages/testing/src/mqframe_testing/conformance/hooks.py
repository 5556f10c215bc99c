"""Conformance suites of send, consume, forbidden-check and RPC hooks."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from mqframe.core.errors import AnswerFix, CallTimeout
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.message import (
    Message,
    MessageQueue,
    ReceivedMessage,
    SendResult,
    SendStatus,
    with_properties,
)
from mqframe.core.sending.encoding import message_properties
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.wire.frame import Frame, encode_frame
from mqframe.hooks.interfaces import (
    ConsumeContext,
    ConsumeHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    RpcHook,
    SendContext,
    SendHook,
    SendOperation,
    TransactionEnd,
)
from mqframe_testing.conformance.in_place import InPlaceConformance

QUEUE = MessageQueue("orders", "broker-a", 1)
MESSAGE = Message("orders", b"body", tag="paid", keys=["o-1"], properties={"colour": "green"})
ADDRESS = "127.0.0.1:10911"
TIME_MS = 1_700_000_000_000


def sent_result(message_id: str = "7F00000100") -> SendResult:
    """What a broker says to a send that went well."""
    return SendResult(SendStatus.SEND_OK, message_id, QUEUE, 42, "7F00000100002A9F0000000000000000")


def received_message(offset: int = 42) -> ReceivedMessage:
    """A stored message as a listener sees it."""
    host = encode_host(ADDRESS)
    return ReceivedMessage(
        "orders", 1, offset, offset * 200, 200, TIME_MS, TIME_MS + 1, host, host, 0, 0, 0, 0, 0,
        b"body", b"TAGS\x01paid\x02KEYS\x01o-1\x02UNIQ_KEY\x017F00000100\x02", "broker-a",
    )  # fmt: skip


class ConformancePort:
    """A port that keeps what a hook hands over. `taken`: whether messages are accepted."""

    client_id = "10.0.0.1@42"

    def __init__(self, *, taken: bool = True) -> None:
        self.messages: list[Message] = []
        self.actions: list[Callable[[], None]] = []
        self._taken = taken

    def now_ms(self) -> int:
        """Always the same moment."""
        return TIME_MS

    def send(self, message: Message) -> bool:
        """Keep `message`, unless nothing is accepted."""
        self.messages += [message] * self._taken
        return self._taken

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Keep `action`."""
        assert seconds > 0
        self.actions.append(action)

    async def values(self, namespace: str) -> list[dict[str, str]]:
        """One name server, which keeps nothing."""
        return [{}]


class _AttachedConformance:
    """What the suites of send and consume hooks share: the life of the client that a hook watches."""

    def make(self) -> Any:
        """A fresh hook."""
        raise NotImplementedError

    def contexts(self) -> list[Any]:
        """What the hook is shown, as before the send or the listener."""
        raise NotImplementedError

    def ended(self, context: Any) -> None:
        """The send or the listener went well."""
        raise NotImplementedError

    @pytest.mark.parametrize("taken", [True, False])
    def test_it_works_between_the_start_and_the_stop_of_a_client(self, taken: bool) -> None:
        """Whether or not the client takes messages of the hook, and after the stop."""
        asyncio.run(self._life(self.make(), ConformancePort(taken=taken)))

    async def _life(self, hook: Any, port: ConformancePort) -> None:
        hook.detach()
        await (hook.attach(port) or asyncio.sleep(0))
        for _ in range(2):
            for context in self.contexts():
                hook.before(context)
                self.ended(context)
                hook.after(context)
            for action in port.actions:
                action()
            hook.detach()


class SendHookConformance(_AttachedConformance):
    """A send hook takes every mode and every outcome, and leaves the message alone."""

    def make(self) -> SendHook:
        """A fresh hook."""
        raise NotImplementedError

    def contexts(self) -> list[SendContext]:
        """One context of each shape, as before the send."""
        batch = [Message("orders", b"body %d" % i) for i in range(3)]
        shapes: list[tuple[str, Sequence[Message]]] = [
            ("sync", [MESSAGE]),
            ("async", [MESSAGE]),
            ("oneway", [MESSAGE]),
            ("sync", batch),
        ]
        return [
            SendContext(
                "shop", messages, [f"id-{i}" for i in range(len(messages))], QUEUE, ADDRESS, mode, TIME_MS
            )
            for mode, messages in shapes
        ]

    def ended(self, context: SendContext) -> None:
        """The message was stored."""
        context.result = sent_result()

    def test_before_and_after_take_every_outcome(self) -> None:
        """A result, no result (one-way), a time-out, a refusal."""
        hook = self.make()
        for outcome in (sent_result(), None, CallTimeout("3 s"), AnswerFix(13, "illegal", ADDRESS)):
            for context in self.contexts():
                hook.before(context)
                context.result = outcome if isinstance(outcome, SendResult) else None
                context.error = outcome if isinstance(outcome, Exception) else None
                hook.after(context)

    def test_the_send_stays_as_it_is(self) -> None:
        """Only `extras` belongs to hooks."""
        hook = self.make()
        for context in self.contexts():
            before = (context.group, list(context.messages), context.queue, context.mode)
            hook.before(context)
            self.ended(context)
            hook.after(context)
            assert (context.group, list(context.messages), context.queue, context.mode) == before
            assert context.result == sent_result()

    def test_after_without_before_is_taken(self) -> None:
        """The hook may have failed, or been added, in between."""
        for context in self.contexts():
            context.error = CallTimeout("3 s")
            self.make().after(context)

    def operations(self) -> list[SendOperation]:
        """One send of each shape, as before it is encoded."""
        return [
            SendOperation(
                context.group, list(context.messages), context.mode, "10.0.0.1@42", len(context.messages) > 1
            )
            for context in self.contexts()
        ]

    def test_what_it_sets_is_legal_and_leaves_the_messages_of_the_application_alone(self) -> None:
        """Properties by `set_property` only; every message can be encoded with them."""
        hook = self.make()
        for operation in self.operations():
            given = list(operation.messages)
            plain = copy.deepcopy(given)
            hook.prepare(operation)
            assert list(operation.messages) == plain, "prepare replaced the messages; use set_property"
            assert given == plain
            for index, properties in operation.take_properties().items():
                message_properties(with_properties(given[index], properties), "0" * 32)
            operation.result = sent_result()
            hook.finish(operation)

    def test_a_send_from_its_beginning_to_its_end(self) -> None:
        """None of its tries may have left; all but the last failed; then it ends in every way."""
        hook = self.make()
        outcomes: list[SendResult | Exception | None] = [sent_result(), None, CallTimeout("3 s")]
        for tries, outcome in itertools.product((0, 1, 3), outcomes):
            for operation, context in zip(self.operations(), self.contexts(), strict=True):
                hook.prepare(operation)
                operation.take_properties()
                for left in range(tries, 0, -1):
                    attempt = attrs.evolve(context, extras=operation.extras)
                    hook.before(attempt)
                    attempt.result = outcome if left == 1 and isinstance(outcome, SendResult) else None
                    attempt.error = None if attempt.result else CallTimeout("3 s")
                    hook.after(attempt)
                operation.result = outcome if isinstance(outcome, SendResult) else None
                operation.error = outcome if isinstance(outcome, Exception) else None
                hook.finish(operation)

    def test_sends_beside_each_other_do_not_mix(self) -> None:
        """Many are under way at once, and end in any order."""
        hook = self.make()
        operations = self.operations()
        given = []
        for operation in operations:
            hook.prepare(operation)
            given.append(operation.take_properties())
        for operation, properties in zip(operations, given, strict=True):
            assert set(properties) <= set(range(len(operation.messages)))
        for operation in reversed(operations):
            operation.result = sent_result()
            hook.finish(operation)

    def test_finish_without_prepare_is_taken(self) -> None:
        """Another hook may have stopped the send before its turn came."""
        for operation in self.operations():
            operation.error = CallTimeout("3 s")
            self.make().finish(operation)

    def test_ends_of_transactions_are_taken(self) -> None:
        """Of both kinds of messages: where nobody asked, and where a broker did."""
        hook = self.make()
        for outcome in TransactionOutcome:
            for message, asked in ((MESSAGE, False), (received_message(), True)):
                hook.transaction_ended(
                    TransactionEnd("shop", message, "id-0", "id-0", outcome, ADDRESS, asked, "R", not asked)
                )


class ConsumeHookConformance(_AttachedConformance, InPlaceConformance):
    """A consume hook takes every outcome of a listener, and leaves the messages alone."""

    def make(self) -> ConsumeHook:
        """A fresh hook."""
        raise NotImplementedError

    def context(self) -> ConsumeContext:
        """A call with two messages, as before the listener."""
        return ConsumeContext("billing", [received_message(42), received_message(43)], QUEUE, "10.0.0.1@42")

    def contexts(self) -> list[ConsumeContext]:
        """That call alone."""
        return [self.context()]

    def ended(self, context: ConsumeContext) -> None:
        """The listener took the messages."""
        context.outcome, context.success = "success", True

    def test_before_and_after_take_every_outcome(self) -> None:
        """All five, with and without an error."""
        hook = self.make()
        for outcome in ("success", "failed", "timeout", "exception", "null"):
            context = self.context()
            hook.before(context)
            context.outcome = outcome
            context.success = outcome == "success"
            context.elapsed_seconds = 0.25
            context.error = ValueError("listener") if outcome == "exception" else None
            hook.after(context)

    def test_the_messages_stay_as_they_are(self) -> None:
        """A listener gets what the broker stored."""
        hook = self.make()
        context = self.context()
        hook.before(context)
        seen = [(m.topic, m.queue_offset, m.body, m.raw_properties) for m in context.messages]
        plain = [(m.topic, m.queue_offset, m.body, m.raw_properties) for m in self.context().messages]
        assert seen == plain
        assert context.queue == QUEUE

    def test_after_without_before_is_taken(self) -> None:
        """The hook may have failed, or been added, in between."""
        context = self.context()
        self.ended(context)
        self.make().after(context)

    def test_around_lets_the_listener_run_and_leaves_nothing_behind(self) -> None:
        """Context variables are afterwards what they were."""
        hook = self.make()
        for outcome in ("success", "failed", "timeout", "null"):
            before, context = dict(contextvars.copy_context()), self.context()
            with hook.around(context):
                context.outcome, context.success = outcome, outcome == "success"
            assert dict(contextvars.copy_context()) == before

    def test_around_lets_errors_of_the_listener_out_as_they_are(self) -> None:
        """A consumer would pass on a swallowed or a replaced one all the same, and log the second."""
        hook = self.make()
        for problem in (ValueError("listener"), asyncio.CancelledError(), SystemExit(1)):
            before, context = dict(contextvars.copy_context()), self.context()
            raised: BaseException | None = None
            try:
                with hook.around(context):
                    context.outcome, context.error = "exception", problem
                    raise problem
            except BaseException as error:
                raised = error
            assert raised is problem
            assert dict(contextvars.copy_context()) == before

    def test_listeners_beside_each_other_do_not_mix(self) -> None:
        """Each has a context of its own, as threads and tasks have, and any may end first."""
        hook = self.make()
        under_way = []
        for _ in range(3):
            where, context = contextvars.copy_context(), self.context()
            manager = where.run(hook.around, context)
            where.run(manager.__enter__)
            under_way.append((where, manager, context))
        for where, manager, context in under_way[1:] + under_way[:1]:
            self.ended(context)
            assert not where.run(manager.__exit__, None, None, None)


class ForbiddenHookConformance:
    """A forbidden-check hook either lets a send pass or raises `Forbidden`, always the same."""

    def make(self) -> ForbiddenHook:
        """A fresh hook."""
        raise NotImplementedError

    def allowed(self) -> list[ForbiddenContext]:
        """Sends that pass."""
        return [ForbiddenContext("shop", MESSAGE, QUEUE, ADDRESS, "sync")]

    def forbidden(self) -> list[ForbiddenContext]:
        """Sends that are stopped."""
        return []

    def test_allowed_sends_pass(self) -> None:
        """Asked once or twice."""
        hook = self.make()
        for context in self.allowed():
            hook.check(context)
            hook.check(context)

    def test_forbidden_sends_are_stopped_with_the_declared_error(self) -> None:
        """And the error says something."""
        hook = self.make()
        for context in self.forbidden():
            for _ in range(2):
                with pytest.raises(Forbidden, match=r"."):
                    hook.check(context)


class RpcHookConformance:
    """An RPC hook leaves frames that can be sent, and takes a call without an answer."""

    def make(self) -> RpcHook:
        """A fresh hook."""
        raise NotImplementedError

    def requests(self) -> list[Frame]:
        """Requests with and without header fields and a body."""
        return [
            Frame(10, 1, ext={"topic": "orders", "queueId": "1"}, body=b"body"),
            Frame(34, 2, ext={}),
            Frame(105, 3),
        ]

    def test_a_request_can_be_encoded_after_before(self) -> None:
        """Fields are texts, none is gone; code and number are the caller's; what had a body still has one."""
        hook = self.make()
        for request in self.requests():
            plain = copy.copy(request)
            hook.before(ADDRESS, request)
            assert (request.code, request.opaque) == (plain.code, plain.opaque)
            assert bool(request.body) == bool(plain.body)
            assert (plain.ext or {}).keys() <= (request.ext or {}).keys()
            assert encode_frame(request)

    def test_after_takes_an_answer_or_none(self) -> None:
        """None comes after a one-way request."""
        hook = self.make()
        for request in self.requests():
            hook.before(ADDRESS, request)
            hook.after(ADDRESS, request, Frame(0, request.opaque, flag=1))
            hook.after(ADDRESS, request, Frame(1, request.opaque, flag=1, remark="failed"))
            hook.after(ADDRESS, request, None)
