"""Which brokers are asked for which topics."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_pop.client.pop_sources import PopSource, PopSources
from mqframe_testing.manual_clock import ManualClock

from mqframe.client.consuming.group.subscriptions import Subscriptions
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ClosedError, FixError, RouteError
from mqframe.core.messages.message import MessageQueue


class Route:
    def __init__(self, topic: str, brokers: list[str]) -> None:
        self._queues = [MessageQueue(topic, broker, number) for broker in brokers for number in range(2)]

    def read_queues(self) -> list[MessageQueue]:
        return self._queues


class Routes:
    """Brokers by topic; a topic that is missing is unknown."""

    def __init__(self) -> None:
        self.brokers: dict[str, list[str]] = {}
        self.problem = RouteError("no route info of this topic: later")

    async def route(self, topic: str) -> Route:
        if topic not in self.brokers:
            raise self.problem
        return Route(topic, self.brokers[topic])


class Scene:
    def __init__(self, *topics: str) -> None:
        self.clock = ManualClock()
        self.routes: Routes | None = Routes()
        subscriptions = Subscriptions("billing", self.clock.now_ms)
        for topic in topics:
            subscriptions.subscribe(topic, "*")
        self.sources = PopSources("billing", subscriptions, lambda: self.routes, self.clock, 20.0)


async def test_every_broker_of_every_topic_is_a_source() -> None:
    scene = Scene("orders", "bills")
    scene.routes.brokers = {"orders": ["b", "a"], "bills": ["a"]}
    expected = [PopSource("bills", "a"), PopSource("orders", "a"), PopSource("orders", "b")]
    assert await scene.sources.find(0.0) == (expected, False)


async def test_one_topic_that_is_missing_does_not_hold_up_the_others() -> None:
    scene = Scene("orders", "later")
    scene.routes.brokers = {"orders": ["a"]}
    assert await scene.sources.find(0.0) == ([PopSource("orders", "a")], True)


async def test_the_first_topic_is_waited_for_until_the_end() -> None:
    scene = Scene("later")
    scene.routes.problem.__cause__ = AnswerError(ResponseCode.TOPIC_NOT_EXIST, "no topic", "ns")
    began = scene.clock.monotonic()
    finding = asyncio.ensure_future(scene.sources.find(began + 30.0))
    await scene.clock.aadvance(29.0)
    assert not finding.done()
    scene.routes.brokers = {"later": ["a"]}
    await scene.clock.aadvance(1.0)
    assert await finding == ([PopSource("later", "a")], False)
    scene.routes.brokers = {}
    with pytest.raises(RouteError, match="no route info"):
        await scene.clock.finish(scene.sources.find(scene.clock.monotonic() + 30.0), 0.5)
    assert scene.clock.monotonic() >= began + 60.0


async def test_name_servers_that_do_not_answer_are_not_waited_for_here() -> None:
    scene = Scene("later")
    with pytest.raises(RouteError, match="no route info"):
        await scene.sources.find(scene.clock.monotonic() + 30.0)


async def test_a_topic_without_queues_to_read_is_told_by_name() -> None:
    scene = Scene("orders")
    scene.routes.brokers = {"orders": []}
    with pytest.raises(RouteError, match="no broker has a queue of orders that can be read"):
        await scene.sources.find(0.0)


async def test_without_subscriptions_or_instance_it_says_so() -> None:
    scene = Scene()
    with pytest.raises(FixError, match="has no subscription"):
        await scene.sources.find(0.0)
    scene.routes = None
    with pytest.raises(ClosedError, match="was stopped"):
        await asyncio.wait_for(scene.sources.find(0.0), 5)
