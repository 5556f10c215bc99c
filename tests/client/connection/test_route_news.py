"""News of routes: by name servers, weakly held, and gone after a fork."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.route_news import RouteNews
from mqframe.client.settings import ClientSettings
from mqframe.core.requests.nameserver import GetRouteinfoByTopic


class Hearer:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def hear(self, topic: str) -> None:
        self.heard.append(topic)


def test_the_others_at_the_same_name_servers_hear_of_it() -> None:
    news, teller, other, elsewhere = RouteNews(), Hearer(), Hearer(), Hearer()
    news.join(["a:1", "b:1"], teller)
    news.join(["b:1", "a:1"], other)
    news.join(["a:1"], elsewhere)
    news.tell(["a:1", "b:1"], teller, "orders")
    assert (teller.heard, other.heard, elsewhere.heard) == ([], ["orders"], [])


def test_who_left_or_was_dropped_hears_nothing() -> None:
    news, teller, left, dropped = RouteNews(), Hearer(), Hearer(), Hearer()
    for each in (teller, left, dropped):
        news.join(["a:1"], each)
    heard = dropped.heard
    del dropped, each
    gc.collect()
    news.leave(["a:1"], left)
    news.leave(["a:1"], left)
    news.leave(["b:1"], left)
    news.tell(["a:1"], teller, "orders")
    assert (left.heard, heard) == ([], [])


def test_after_a_fork_nobody_is_left() -> None:
    news, teller, other = RouteNews(), Hearer(), Hearer()
    news.join(["a:1"], other)
    child = os.fork()
    if child == 0:
        try:
            news.tell(["a:1"], teller, "orders")
            os._exit(len(other.heard))
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    news.tell(["a:1"], teller, "orders")
    assert other.heard == ["orders"]


@asynccontextmanager
async def staged(nameservers=("n:1", "n:1")) -> AsyncIterator[Any]:
    """`story(first, second, broker, clock)` with two instances over one scripted broker."""
    clock = ManualClock()
    broker = ScriptedBroker(clock, {"orders": 1})
    other = ScriptedBroker(clock, {})
    other.topics = broker.topics
    made = [
        ClientInstance(ClientSettings(nameserver=address), clock, each)  # type: ignore[arg-type]
        for address, each in zip(nameservers, (broker, other), strict=True)
    ]
    for instance in made:
        await instance.start()
    try:
        yield (*made, (broker, other), clock)
    finally:
        for instance in made:
            await instance.stop()


async def unknown(instance, topic: str) -> bool:
    try:
        await instance.route(topic)
    except Exception as problem:
        return "no route to topic" in str(problem)
    return False


def queues(instance, topic: str) -> int:
    route = instance.routes.known(topic)
    return 0 if route is None else len(route.read_queues())


async def test_a_topic_that_one_instance_misses_is_asked_for_when_another_finds_it() -> None:
    async with staged() as (first, second, brokers, clock):
        assert await unknown(first, "new")
        brokers[0].topics["new"] = 3
        await second.route("new")
        await clock.aadvance(0)
        assert queues(first, "new") == 3
        assert [each.topic for each in brokers[0].sent(GetRouteinfoByTopic)] == ["new", "new"]


async def test_a_change_that_one_finds_reaches_the_other_at_once_and_ends_there() -> None:
    async with staged() as (first, second, brokers, clock):
        await first.route("orders")
        await second.route("orders")
        await clock.aadvance(0)
        before = [len(each.sent(GetRouteinfoByTopic)) for each in brokers]
        brokers[0].topics["orders"] = 5
        await second.route("orders", refresh=True)
        await clock.aadvance(0)
        assert (queues(first, "orders"), queues(second, "orders")) == (5, 5)
        after = [len(each.sent(GetRouteinfoByTopic)) for each in brokers]
        assert after == [before[0] + 1, before[1] + 1]


async def test_a_topic_of_no_interest_and_another_name_server_are_left_alone() -> None:
    async with staged() as (first, second, brokers, clock):
        await second.route("orders")
        await clock.aadvance(0)
        assert brokers[0].sent(GetRouteinfoByTopic) == []

    async with staged(("n:1", "n:2")) as (first, second, brokers, clock):
        await first.route("orders")
        brokers[0].topics["orders"] = 5
        await second.route("orders")
        await clock.aadvance(0)
        assert (queues(first, "orders"), queues(second, "orders")) == (1, 5)


async def test_an_instance_that_stopped_or_whose_loop_is_closed_does_no_harm() -> None:
    clock = ManualClock()
    broker = ScriptedBroker(clock, {"orders": 1})
    instance = ClientInstance(ClientSettings(nameserver="n:1"), clock, broker)
    await instance.start()
    forgotten = instance

    async with staged() as (first, second, brokers, clock):
        await first.route("orders")
        await first.stop()
        brokers[0].topics["orders"] = 5
        await second.route("orders")
        await clock.aadvance(0)
        assert queues(first, "orders") == 1
    assert forgotten.routes.known("orders") is None
