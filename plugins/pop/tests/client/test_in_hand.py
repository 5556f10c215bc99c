"""Messages in hand: acknowledged together, renewed while a listener works, handed back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from mqframe_pop.client.in_hand import MessagesInHand
from mqframe_pop.rules.popped import PoppedMessage
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.connection.outages import Outages
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, CallTimeout, ReceiptError

SECONDS = 8.0


class Calls:
    """Notes what brokers are asked, each call waiting for `answer`; `fails`: raised instead, in turn."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.asked: list[tuple[str, list[int], float]] = []
        self.fails: list[Exception | None] = []
        self.takes = 0.0

    async def _call(self, what: str, messages: list[PoppedMessage], seconds: float = 0.0) -> None:
        self.asked.append((what, [message.queue_offset for message in messages], seconds))
        if self.takes:
            await self.clock.sleep(self.takes)
        if self.fails and (problem := self.fails.pop(0)) is not None:
            raise problem

    async def acknowledge(self, message: PoppedMessage) -> None:
        await self._call("ack", [message])
        message.acknowledged = True

    async def acknowledge_all(self, messages: list[PoppedMessage]) -> None:
        await self._call("acks", messages)
        for message in messages:
            message.acknowledged = True

    async def change_invisible_time(self, message: PoppedMessage, seconds: float) -> str:
        await self._call("change", [message], seconds)
        message.hidden_anew(f"{message.receipt_handle}'", self.clock.monotonic() + seconds)
        return message.receipt_handle


class Instance:
    def __init__(self, clock: ManualClock) -> None:
        self.outages = Outages(clock)

    def spawn(self, work):
        return asyncio.ensure_future(work)


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.calls = Calls(self.clock)
        self.gone: list[tuple[int, bool]] = []
        self.in_hand = MessagesInHand("g", Instance(self.clock), self.calls, self.clock, SECONDS)
        self.renews = False

    def pop(self, *offsets: int) -> list[PoppedMessage]:
        if not self.renews:
            self.renews = True
            self.in_hand.start()
        messages = []
        for offset in offsets:
            message = received(offset)
            messages.append(PoppedMessage(message, f"h{offset}", self.clock.monotonic() + SECONDS))
        self.in_hand.take(messages, lambda message, ok: self.gone.append((message.queue_offset, ok)))
        return messages


@pytest.fixture
def scene() -> Scene:
    return Scene()


def late() -> ReceiptError:
    return ReceiptError(ResponseCode.NO_MESSAGE, "it is over", "b")


async def test_what_is_settled_while_a_request_is_under_way_goes_with_the_next(scene: Scene) -> None:
    messages = scene.pop(*range(6))
    scene.calls.takes = 0.5
    scene.in_hand.settle(messages[:1])
    await scene.clock.aadvance(0.1)
    scene.in_hand.settle(messages[1:3])
    scene.in_hand.settle(messages[2:])
    await scene.clock.aadvance(2.0)
    assert scene.calls.asked == [("ack", [0], 0.0), ("acks", [1, 2, 3, 4, 5], 0.0)]
    assert scene.gone == [(offset, True) for offset in range(6)]
    assert len(scene.in_hand) == 0


async def test_what_takes_long_is_renewed_before_half_of_its_time_is_over_and_no_longer(scene: Scene) -> None:
    [message] = scene.pop(3)
    await scene.clock.aadvance(3.9)
    assert scene.calls.asked == []
    await scene.clock.aadvance(16.1)
    renewed = scene.calls.asked.copy()
    assert set(map(str, renewed)) == {str(("change", [3], SECONDS))}
    assert 3 <= len(renewed) <= 5
    scene.in_hand.settle([message])
    await scene.clock.aadvance(50.0)
    assert scene.calls.asked == [*renewed, ("ack", [3], 0.0)]


async def test_an_acknowledgement_waits_for_the_new_handle(scene: Scene) -> None:
    [message] = scene.pop(3)
    scene.calls.takes = 1.0
    renewing = asyncio.ensure_future(scene.in_hand.hide(message, 30.0))
    await scene.clock.aadvance(0.5)
    scene.in_hand.settle([message])
    await scene.clock.aadvance(0.1)
    assert scene.calls.asked == [("change", [3], 30.0)]
    await scene.clock.aadvance(2.0)
    assert renewing.done()
    assert scene.calls.asked == [("change", [3], 30.0), ("ack", [3], 0.0)]
    assert scene.gone == [(3, True)]


async def test_what_is_left_to_the_application_has_the_new_handle_and_is_not_renewed_any_more(
    scene: Scene,
) -> None:
    messages = scene.pop(3, 4)
    scene.calls.takes = 1.0
    hiding = asyncio.ensure_future(scene.in_hand.hide(messages[0], 30.0))
    await scene.clock.aadvance(0.5)
    leaving = [asyncio.ensure_future(scene.in_hand.let_go(message)) for message in messages]
    await scene.clock.aadvance(0.1)
    assert [each.done() for each in leaving] == [False, True]
    await scene.clock.aadvance(1.0)
    assert leaving[0].done()
    assert hiding.done()
    assert messages[0].receipt_handle == "h3'"
    await scene.clock.aadvance(60.0)
    assert scene.calls.asked == [("change", [3], 30.0)]
    assert len(scene.in_hand) == 0


async def test_what_the_application_acknowledged_is_neither_renewed_nor_acknowledged(scene: Scene) -> None:
    [message] = scene.pop(3)
    message.acknowledged = True
    await scene.clock.aadvance(60.0)
    scene.in_hand.settle([message])
    await scene.clock.aadvance(1.0)
    assert scene.calls.asked == []
    assert scene.gone == [(3, True)]


async def test_handing_back_waits_for_it_too_and_nothing_is_acknowledged_after_it(scene: Scene) -> None:
    [message] = scene.pop(3)
    scene.calls.takes = 1.0
    hiding = asyncio.ensure_future(scene.in_hand.hide(message, 30.0))
    await scene.clock.aadvance(0.5)
    back = asyncio.ensure_future(scene.in_hand.hand_back(message, 10.0))
    await scene.clock.aadvance(3.0)
    assert back.done()
    assert hiding.done()
    scene.in_hand.settle([message])
    await scene.clock.aadvance(3.0)
    assert scene.calls.asked == [("change", [3], 30.0), ("change", [3], 10.0)]
    assert scene.gone == [(3, False)]


@pytest.mark.parametrize("problem", [late(), CallTimeout("no answer")])
async def test_what_cannot_be_handed_back_is_let_go(scene: Scene, problem: Exception) -> None:
    [message] = scene.pop(3)
    scene.calls.fails = [problem]
    await scene.in_hand.hand_back(message, 10.0)
    assert scene.gone == [(3, False)]
    assert not scene.in_hand.has(message)


async def test_a_message_that_is_not_ours_any_more_is_let_go_at_its_renewal(scene: Scene) -> None:
    [message] = scene.pop(3)
    scene.calls.fails = [late()]
    await scene.clock.aadvance(5.0)
    assert scene.gone == [(3, False)]
    scene.in_hand.settle([message])
    await scene.clock.aadvance(5.0)
    assert [what for what, _, _ in scene.calls.asked] == ["change"]


async def test_acknowledgements_that_fail_are_repeated_as_long_as_their_time_is_not_over(
    scene: Scene,
) -> None:
    messages = scene.pop(1, 2)
    scene.calls.fails = [CallTimeout("no answer"), CallTimeout("no answer"), None]
    scene.in_hand.settle(messages)
    await scene.clock.aadvance(4.0)
    assert scene.calls.asked == [("acks", [1, 2], 0.0)] * 3
    assert scene.gone == [(1, True), (2, True)]
    messages = scene.pop(5, 6)
    scene.calls.fails = [CallTimeout("no answer")] * 100
    scene.in_hand.settle(messages)
    await scene.clock.aadvance(20.0)
    assert 6 <= len(scene.calls.asked) - 3 <= 10
    assert len(scene.in_hand) == 0


async def test_brokers_that_know_no_batches_get_one_after_the_other(scene: Scene) -> None:
    scene.calls.fails = [AnswerError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "what?", "b"), late()]
    scene.in_hand.settle(scene.pop(1, 2, 3))
    await scene.clock.aadvance(1.0)
    scene.in_hand.settle(scene.pop(4, 5))
    await scene.clock.aadvance(1.0)
    singles = [("ack", [offset], 0.0) for offset in (1, 2, 3, 4, 5)]
    assert scene.calls.asked == [("acks", [1, 2, 3], 0.0), *singles]
    assert len(scene.in_hand) == 0


async def test_what_nobody_has_begun_is_given_back_at_once(scene: Scene) -> None:
    messages = scene.pop(1, 2, 3)
    scene.calls.takes = 0.5
    scene.in_hand.settle(messages[2:])
    giving: Callable[[], object] = asyncio.ensure_future(scene.in_hand.give_back_all_but([messages[0], None]))
    await scene.clock.aadvance(2.0)
    assert giving.done()
    assert scene.calls.asked == [("ack", [3], 0.0), ("change", [2], 0.001)]
    assert scene.gone == [(3, True), (2, False)]


async def test_an_error_that_nobody_thought_of_holds_no_messages(scene: Scene) -> None:
    messages = scene.pop(1, 2)
    scene.calls.fails = [RuntimeError("odd")]
    scene.in_hand.settle(messages)
    await scene.clock.aadvance(1.0)
    assert scene.gone == [(1, False), (2, False)]
    scene.in_hand.settle(scene.pop(3))
    await scene.clock.aadvance(1.0)
    assert scene.gone[2:] == [(3, True)]
