"""The suites themselves: good plugins pass (here, and in each plugin's tests), faulty ones are caught."""

from collections.abc import Sequence

import pytest

from mqframe.core.frame import Frame
from mqframe.core.message import MessageQueue
from mqframe.hooks.interfaces import (
    AllocationStrategy,
    ConsumeHook,
    Dispatcher,
    Forbidden,
    ForbiddenContext,
    ForbiddenHook,
    LogRange,
    RpcHook,
    SendHook,
)
from mqframe.testing.conformance import (
    AllocationConformance,
    ConsumeHookConformance,
    DispatcherConformance,
    ForbiddenHookConformance,
    RpcHookConformance,
    SendHookConformance,
)


class Collector(Dispatcher):
    """Keeps offsets in a list that outlives it."""

    name = "collector"

    def __init__(self, got: list[int]) -> None:
        self.got = got

    def dispatch(self, stretch: LogRange) -> int:
        self.got += [record.commit_log_offset for record in stretch.records()]
        return stretch.end


class TestDispatcher(DispatcherConformance):
    @pytest.fixture(autouse=True)
    def _sink(self) -> None:
        self.got: list[int] = []

    def make(self) -> Dispatcher:
        return Collector(self.got)

    def delivered(self) -> Sequence[int]:
        return self.got


class TestSendHook(SendHookConformance):
    def make(self) -> SendHook:
        return SendHook()


class TestConsumeHook(ConsumeHookConformance):
    def make(self) -> ConsumeHook:
        return ConsumeHook()


class NoRefunds(ForbiddenHook):
    """Stops a topic."""

    def check(self, context: ForbiddenContext) -> None:
        if context.message.topic == "refunds":
            raise Forbidden("no refunds")


class TestForbiddenHook(ForbiddenHookConformance):
    def make(self) -> ForbiddenHook:
        return NoRefunds()

    def forbidden(self) -> list[ForbiddenContext]:
        allowed = self.allowed()[0]
        queue = MessageQueue("refunds", "broker-a", 0)
        message = type(allowed.message)("refunds", b"x")
        return [ForbiddenContext("shop", message, queue, allowed.broker_address, "sync")]


class Signing(RpcHook):
    """Adds a field, as access control does."""

    def before(self, address: str, request: Frame) -> None:
        request.ext = {**(request.ext or {}), "Signature": "x"}


class TestRpcHook(RpcHookConformance):
    def make(self) -> RpcHook:
        return Signing()


class Greedy(AllocationStrategy):
    """Gives everything to everybody."""

    wire_name = "GREEDY"

    def allocate(self, group, client_id, queues, clients):
        return list(queues)


class Hasty(Collector):
    """Says that more is durable than it was handed."""

    def dispatch(self, stretch: LogRange) -> int:
        return stretch.end + 1


def test_a_strategy_that_gives_a_queue_twice_is_caught() -> None:
    suite = AllocationConformance()
    suite.make = Greedy
    with pytest.raises(AssertionError):
        suite.test_every_queue_has_one_owner()
    with pytest.raises(AssertionError):
        suite.test_a_stranger_gets_nothing()


class TestHastyDispatcher(DispatcherConformance):
    def make(self) -> Dispatcher:
        return Hasty([])

    def test_the_cursor_grows_and_stays_within_what_was_handed_over(self) -> None:
        with pytest.raises(AssertionError):
            super().test_the_cursor_grows_and_stays_within_what_was_handed_over()

    def test_nothing_is_lost_over_a_restart(self) -> None:
        with pytest.raises(ValueError, match="is not in list"):
            super().test_nothing_is_lost_over_a_restart()
