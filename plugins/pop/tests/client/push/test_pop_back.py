"""What becomes of what a listener failed at: hidden for a while, or a dead letter."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from mqframe_pop.client.push.pop_back import PopBack
from mqframe_pop.rules.popped import PoppedMessage
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.consuming.push.listener import ListenerContext
from mqframe.core.errors import ConnectError, RouteError
from mqframe.core.messages.message import MessageQueue


class Hands:
    def __init__(self) -> None:
        self.back: list[tuple[int, float]] = []

    def take(self, messages, gone) -> None:
        self._gone = gone

    def settle(self, messages) -> None:
        for message in messages:
            self._gone(message, True)

    async def hand_back(self, message, seconds: float) -> None:
        self.back.append((message.queue_offset, seconds))


class NoBrokers:
    """An instance that can send nothing."""

    routes = SimpleNamespace(brokers=dict)

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task] = []

    def spawn(self, work) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def route(self, topic: str, *, refresh: bool = False):
        raise RouteError(f"no route to {topic}")


def made(**settings) -> tuple[PopBack, Hands]:
    hands = Hands()
    plan = SimpleNamespace(group="g", clock=ManualClock(), settings=ConsumerSettings(**settings))
    times = SimpleNamespace(
        seconds=lambda times, level, pause: (pause or 0.0) + 100.0 * level + times,
        returns_max=plan.settings.returns_max,
    )
    return PopBack(plan, NoBrokers(), hands, times), hands


@pytest.mark.parametrize(("times", "level", "seconds"), [(0, 0, 0.0), (2, 0, 2.0), (1, 3, 301.0)])
async def test_it_is_hidden_for_as_long_as_level_and_count_say(times, level, seconds) -> None:
    back, hands = made()
    message = received(5)
    message.reconsume_times = times
    await back.send_back(message, level)
    assert hands.back == [(5, seconds)]


async def test_what_its_listener_says_of_its_queue_counts_for_each_message() -> None:
    back, hands = made()
    popped = [PoppedMessage(received(offset), "handle", 60.0) for offset in range(2)]
    context = ListenerContext(MessageQueue("orders", "broker-a", 0), "g")
    context.suspend_current_queue_time_millis = 7_000
    back.failed(popped, context)
    for message in popped:
        await back.send_back(message)
    context.suspend_current_queue_time_millis = None
    back.failed(popped, context)
    await back.send_back(popped[1], 1)
    assert hands.back == [(0, 7_000.0), (1, 7_000.0), (1, 100.0)]


@pytest.mark.parametrize(("settings", "times", "level"), [({}, 4, -1), ({"max_reconsume_times": 4}, 4, 2)])
async def test_a_dead_letter_that_no_broker_takes_comes_again(settings, times, level) -> None:
    back, hands = made(**settings)
    message = received(5)
    message.reconsume_times = times
    await back.send_back(message, level)
    assert hands.back == [(5, 4.0)]


async def test_dead_letters_are_sent_and_not_handed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int, str]] = []

    async def resend(self, message, delay_level=0, reason=""):
        sent.append((message.queue_offset, delay_level, reason))

    monkeypatch.setattr(PopBack, "resend", resend)
    back, hands = made(max_reconsume_times=1)
    last = received(6)
    last.reconsume_times = 1
    await back.send_back(received(5), -1)
    await back.send_back(last, 0)
    await back.give_up(received(7), "no JSON")
    assert sent == [(5, -1, ""), (6, -1, ""), (7, -1, "no JSON")]
    assert hands.back == []


async def test_what_came_too_often_is_given_up_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, str]] = []

    async def resend(self, message, delay_level=0, reason=""):
        sent.append((message.queue_offset, reason))

    monkeypatch.setattr(PopBack, "resend", resend)
    back, _ = made(max_reconsume_times=2)
    popped = [received(offset) for offset in range(4)]
    for times, message in enumerate(popped):
        message.reconsume_times = times
    settled: list[tuple[int, bool]] = []
    left = back.give_up_old(
        popped, lambda message, consumed: settled.append((message.queue_offset, consumed))
    )
    assert [message.queue_offset for message in left] == [0, 1, 2]
    await asyncio.gather(*back._instance.tasks)
    assert sent == [(3, "it came again 3 times")]
    assert settled == [(3, True)]
    assert back.give_up_old(left, lambda *_: None) == left
    unlimited, _ = made()
    assert unlimited.give_up_old(popped, lambda *_: None) == popped


async def test_a_broker_that_is_away_keeps_nothing_from_coming_again(monkeypatch) -> None:
    async def resend(self, message, delay_level=0, reason=""):
        raise ConnectError("away")

    monkeypatch.setattr(PopBack, "resend", resend)
    back, hands = made()
    await back.give_up(received(7), "no JSON")
    assert hands.back == [(7, 0.0)]


async def test_an_error_that_nobody_thought_of_hides_nothing_for_ever(monkeypatch) -> None:
    async def resend(self, message, delay_level=0, reason=""):
        raise LookupError("a bug")

    monkeypatch.setattr(PopBack, "resend", resend)
    back, hands = made(max_reconsume_times=2)
    message = received(7)
    message.reconsume_times = 3
    assert back.give_up_old([message], lambda *_: None) == []
    [problem] = await asyncio.gather(*back._instance.tasks, return_exceptions=True)
    assert isinstance(problem, LookupError)
    assert hands.back == [(7, 3.0)]
