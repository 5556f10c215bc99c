"""The suites of hooks: good ones pass, each faulty one is caught by the check of its rule."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from faults import caught_by
from mqframe_testing.conformance import (
    ConsumeHookConformance,
    ForbiddenHookConformance,
    RpcHookConformance,
    SendHookConformance,
)

from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.sending.transaction_outcome import TransactionOutcome
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import (
    ConsumeContext,
    ConsumeHook,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    HookPort,
    RpcHook,
    SendContext,
    SendHook,
    SendOperation,
    TransactionEnd,
)

GROUP: contextvars.ContextVar[str] = contextvars.ContextVar("group", default="")
OUTCOMES = "test_before_and_after_take_every_outcome"
ALONE = "test_after_without_before_is_taken"
LEGAL = "test_what_it_sets_is_legal_and_leaves_the_messages_of_the_application_alone"
BESIDE = "test_sends_beside_each_other_do_not_mix"
FROM_BEGIN_TO_END = "test_a_send_from_its_beginning_to_its_end"
LIFE = "test_it_works_between_the_start_and_the_stop_of_a_client"


class Counting(SendHook):
    """Notes what left before the client stopped, and sends a message of its own for each."""

    port: HookPort | None = None

    def attach(self, port: HookPort) -> None:
        self.port = port
        port.every(1.0, lambda: None)

    def after(self, context: SendContext) -> None:
        if self.port is not None:
            self.port.send(Message("counts", context.mode.encode()))

    def detach(self) -> None:
        self.port = None


class TestSendHook(SendHookConformance):
    def make(self) -> SendHook:
        return Counting()


class NeedsResult(SendHook):
    """Believes that every send goes well."""

    def after(self, context: SendContext) -> None:
        if context.error is None:
            context.extras["seen"] = context.result.message_id


class Redirecting(SendHook):
    """Changes the queue."""

    def before(self, context: SendContext) -> None:
        context.queue = MessageQueue("elsewhere", "broker-z", 0)


class Dropping(SendHook):
    """Takes messages away from a batch."""

    def before(self, context: SendContext) -> None:
        context.messages = context.messages[:1]


class Forgetful(SendHook):
    """Needs what `before` left."""

    def before(self, context: SendContext) -> None:
        context.extras["began"] = context.born_timestamp

    def after(self, context: SendContext) -> None:
        context.extras.pop("began")


class Insisting(Counting):
    """Does not bear that its message is not taken."""

    def after(self, context: SendContext) -> None:
        if self.port is not None and not self.port.send(Message("counts", b"1")):
            raise OSError("not taken")


class OnceStarted(Counting):
    """Cannot be stopped unless it was started."""

    def detach(self) -> None:
        if self.port is None:
            raise RuntimeError("not started")
        self.port = None


class Restless(Counting):
    """Wants to be called all the time."""

    def attach(self, port: HookPort) -> None:
        port.every(0.0, lambda: None)


class CommitsOnly(Counting):
    """Knows no other end of a transaction."""

    def transaction_ended(self, end: TransactionEnd) -> None:
        assert end.outcome is TransactionOutcome.COMMIT


class Setting(Counting):
    """Sets properties of its own."""

    def prepare(self, operation: SendOperation) -> None:
        operation.set_property("tenant", "acme")
        operation.set_property("last", "yes", -1)
        operation.extras["prepared"] = True

    def finish(self, operation: SendOperation) -> None:
        operation.extras.pop("prepared", None)


class TestSettingHook(SendHookConformance):
    def make(self) -> SendHook:
        return Setting()


class Reserved(SendHook):
    """Sets what belongs to the system."""

    def prepare(self, operation: SendOperation) -> None:
        if operation.messages[0].tag:
            operation.set_property("TAGS", "mine")

    def finish(self, operation: SendOperation) -> None: ...


class TooLong(SendHook):
    """Sets what no message can carry."""

    def prepare(self, operation: SendOperation) -> None:
        operation.set_property("tenant", "x" * 32_767)


class InPlace(SendHook):
    """Changes the message of the application."""

    def prepare(self, operation: SendOperation) -> None:
        operation.messages[0].properties["tenant"] = "acme"  # type: ignore[index]


class Unprepared(Setting):
    """Needs what `prepare` left."""

    def finish(self, operation: SendOperation) -> None:
        operation.extras.pop("prepared")


class OneAtATime(SendHook):
    """Believes that a send ends before the next one begins."""

    under_way: SendOperation | None = None

    def prepare(self, operation: SendOperation) -> None:
        if self.under_way is not None:
            raise RuntimeError("one is under way")
        self.under_way = operation

    def finish(self, operation: SendOperation) -> None:
        self.under_way = None


class NeedsTry(SendHook):
    """Believes that every send has a try."""

    def before(self, context: SendContext) -> None:
        context.extras["left"] = True

    def finish(self, operation: SendOperation) -> None:
        if "prepared" in operation.extras:
            operation.extras.pop("left")

    def prepare(self, operation: SendOperation) -> None:
        operation.extras["prepared"] = True


@pytest.mark.parametrize(
    ("faulty", "checks"),
    [
        (NeedsResult, [OUTCOMES, LIFE]),
        (Redirecting, ["test_the_send_stays_as_it_is"]),
        (Dropping, ["test_the_send_stays_as_it_is"]),
        (Forgetful, [ALONE]),
        (Insisting, [LIFE]),
        (OnceStarted, [LIFE]),
        (Restless, [LIFE]),
        (Reserved, [LEGAL, BESIDE, FROM_BEGIN_TO_END]),
        (TooLong, [LEGAL]),
        (InPlace, [LEGAL]),
        (Unprepared, ["test_finish_without_prepare_is_taken"]),
        (OneAtATime, [BESIDE]),
        (CommitsOnly, ["test_ends_of_transactions_are_taken"]),
        (NeedsTry, [FROM_BEGIN_TO_END, LEGAL, BESIDE]),
    ],
)
def test_a_faulty_send_hook_is_caught(faulty: type[SendHook], checks: list[str]) -> None:
    class Suite(SendHookConformance):
        def make(self) -> SendHook:
            return faulty()

    assert set(checks[:1]) <= set(caught_by(Suite)) <= set(checks)


class TestConsumeHook(ConsumeHookConformance):
    def make(self) -> ConsumeHook:
        return ConsumeHook()


class KnowsSome(ConsumeHook):
    """Knows two outcomes."""

    def after(self, context: ConsumeContext) -> None:
        {"success": 1, "failed": 2}[context.outcome]


class Hiding(ConsumeHook):
    """Keeps a message from the listener."""

    def before(self, context: ConsumeContext) -> None:
        context.messages = context.messages[1:]


class NeedsBefore(ConsumeHook):
    """Needs what `before` left."""

    def before(self, context: ConsumeContext) -> None:
        context.extras["began"] = 1

    def after(self, context: ConsumeContext) -> None:
        context.extras.pop("began")


class SendsAlways(ConsumeHook):
    """Does not bear that its message is not taken."""

    def attach(self, port: HookPort) -> None:
        if not port.send(Message("counts", b"started")):
            raise OSError("not taken")


class Wrapping(ConsumeHook):
    """Sets a context variable around the listener."""

    @contextmanager
    def around(self, context: ConsumeContext) -> Iterator[None]:
        token = GROUP.set(context.group)
        try:
            yield
        finally:
            GROUP.reset(token)


class TestWrappingHook(ConsumeHookConformance):
    def make(self) -> ConsumeHook:
        return Wrapping()


class Swallowing(ConsumeHook):
    """Keeps errors to itself."""

    @contextmanager
    def around(self, context: ConsumeContext) -> Iterator[None]:
        with suppress(ValueError):
            yield


class LeavesBehind(ConsumeHook):
    """Forgets to take back what it has set when all goes well."""

    @contextmanager
    def around(self, context: ConsumeContext) -> Iterator[None]:
        token = GROUP.set(str(time.monotonic_ns()))
        try:
            yield
        except BaseException:
            GROUP.reset(token)
            raise


class Shared(ConsumeHook):
    """Keeps what belongs to a call in itself."""

    def around(self, context: ConsumeContext) -> Shared:
        return self

    def __enter__(self) -> None:
        self.token = GROUP.set("here")

    def __exit__(self, *problem: object) -> None:
        GROUP.reset(self.token)


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (KnowsSome, OUTCOMES),
        (Hiding, "test_the_messages_stay_as_they_are"),
        (NeedsBefore, ALONE),
        (SendsAlways, LIFE),
        (Swallowing, "test_around_lets_errors_of_the_listener_out_as_they_are"),
        (LeavesBehind, "test_around_lets_the_listener_run_and_leaves_nothing_behind"),
        (Shared, "test_listeners_beside_each_other_do_not_mix"),
    ],
)
def test_a_faulty_consume_hook_is_caught_by_one_check(faulty: type[ConsumeHook], check: str) -> None:
    class Suite(ConsumeHookConformance):
        def make(self) -> ConsumeHook:
            return faulty()

    assert caught_by(Suite) == [check]


class NoRefunds(ForbiddenHook):
    """Stops a topic."""

    def check(self, context: ForbiddenContext) -> None:
        if context.message.topic == "refunds":
            raise Forbidden("no refunds")


class ForbiddenSuite(ForbiddenHookConformance):
    made: type[ForbiddenHook] = NoRefunds

    def make(self) -> ForbiddenHook:
        return self.made()

    def forbidden(self) -> list[ForbiddenContext]:
        allowed = self.allowed()[0]
        queue = MessageQueue("refunds", "broker-a", 0)
        message = type(allowed.message)("refunds", b"x")
        return [ForbiddenContext("shop", message, queue, allowed.broker_address, "sync")]


class TestForbiddenHook(ForbiddenSuite):
    pass


class Strict(ForbiddenHook):
    """Stops everything."""

    def check(self, context: ForbiddenContext) -> None:
        raise Forbidden("nothing today")


class Lax(ForbiddenHook):
    """Stops nothing."""

    def check(self, context: ForbiddenContext) -> None:
        pass


class OtherError(NoRefunds):
    """Stops with an error that is not the declared one."""

    def check(self, context: ForbiddenContext) -> None:
        try:
            super().check(context)
        except Forbidden as problem:
            raise ValueError(str(problem)) from None


class Silent(NoRefunds):
    """Does not say why."""

    def check(self, context: ForbiddenContext) -> None:
        if context.message.topic == "refunds":
            raise Forbidden("")


class Once(NoRefunds):
    """Stops a send once."""

    asked = 0

    def check(self, context: ForbiddenContext) -> None:
        self.asked += 1
        if self.asked == 1:
            super().check(context)


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Strict, "test_allowed_sends_pass"),
        (Lax, "test_forbidden_sends_are_stopped_with_the_declared_error"),
        (OtherError, "test_forbidden_sends_are_stopped_with_the_declared_error"),
        (Silent, "test_forbidden_sends_are_stopped_with_the_declared_error"),
        (Once, "test_forbidden_sends_are_stopped_with_the_declared_error"),
    ],
)
def test_a_faulty_forbidden_hook_is_caught_by_one_check(faulty: type[ForbiddenHook], check: str) -> None:
    assert caught_by(type("Faulty", (ForbiddenSuite,), {"made": faulty})) == [check]


class Signing(RpcHook):
    """Adds a field, as access control does."""

    def before(self, address: str, request: Frame) -> None:
        request.ext = {**(request.ext or {}), "Signature": "x"}


class TestRpcHook(RpcHookConformance):
    def make(self) -> RpcHook:
        return Signing()


class Recoding(RpcHook):
    """Changes the request kind."""

    def before(self, address: str, request: Frame) -> None:
        request.code += 1


class Emptying(RpcHook):
    """Drops the body."""

    def before(self, address: str, request: Frame) -> None:
        request.body = b""


class Replacing(RpcHook):
    """Drops the caller's fields."""

    def before(self, address: str, request: Frame) -> None:
        request.ext = {"Signature": "x"}


class Unsendable(RpcHook):
    """Adds what no frame can hold."""

    def before(self, address: str, request: Frame) -> None:
        request.ext = {**(request.ext or {}), "Signature": object()}


class NeedsAnswer(RpcHook):
    """Believes that every request has an answer."""

    def after(self, address: str, request: Frame, answer: Frame | None) -> None:
        assert answer is not None


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Recoding, "test_a_request_can_be_encoded_after_before"),
        (Emptying, "test_a_request_can_be_encoded_after_before"),
        (Replacing, "test_a_request_can_be_encoded_after_before"),
        (Unsendable, "test_a_request_can_be_encoded_after_before"),
        (NeedsAnswer, "test_after_takes_an_answer_or_none"),
    ],
)
def test_a_faulty_rpc_hook_is_caught_by_one_check(faulty: type[RpcHook], check: str) -> None:
    class Suite(RpcHookConformance):
        def make(self) -> RpcHook:
            return faulty()

    assert caught_by(Suite) == [check]
