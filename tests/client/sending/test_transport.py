"""The transport of an asyncio producer over a scripted broker, on a manual clock."""

from __future__ import annotations

import asyncio

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.sending.transport import AsyncTransport
from mqframe.core.errors import RouteError
from mqframe.core.requests.nameserver import GetRouteinfoByTopic


async def test_a_route_is_asked_for_now_and_known_afterwards():
    async with ClientScene() as scene:
        transport = AsyncTransport(scene.instance, scene.clock, "TBW102", 4)
        assert transport.known_route("orders") is None
        route = await transport.find_route("orders", 3.0)
        assert transport.known_route("orders") is route
        scene.broker.topics["orders"] = 3
        assert len((await transport.find_route("orders", 3.0)).write_queues()) == 3
        assert len(scene.broker.sent(GetRouteinfoByTopic)) == 2


async def test_a_topic_that_is_not_there_gets_no_more_queues_than_the_limit():
    async with ClientScene({"TBW102": 8}) as scene:
        transport = AsyncTransport(scene.instance, scene.clock, "TBW102", 4)
        route = await transport.find_route("new", 3.0)
        assert [(queue.topic, queue.queue_id) for queue in route.write_queues()] == [
            ("new", number) for number in range(4)
        ]


async def test_a_name_server_that_is_silent_is_waited_for_no_longer_than_said():
    async with ClientScene() as scene:
        silence = asyncio.Event()

        async def silent(request):
            await silence.wait()

        scene.broker.script(GetRouteinfoByTopic, silent)
        transport = AsyncTransport(scene.instance, scene.clock, "TBW102", 4)
        asking = asyncio.ensure_future(transport.find_route("orders", 2.0))
        await scene.clock.aadvance(1.9)
        assert not asking.done()
        await scene.clock.aadvance(0.2)
        with pytest.raises(RouteError, match="no route to topic orders within 2 s; nothing was sent"):
            await asking


@pytest.mark.parametrize("known_after", [0.05, 0.3, 0.9])
async def test_a_topic_that_was_made_just_now_is_looked_for_again(known_after):
    async with ClientScene() as scene:
        transport = AsyncTransport(scene.instance, scene.clock, "none", 4)
        asking = asyncio.ensure_future(transport.find_route("new", 3.0))
        await scene.clock.aadvance(known_after)
        assert not asking.done()
        scene.broker.topics["new"] = 2
        await scene.clock.aadvance(1.0 - known_after)
        assert len((await asking).write_queues()) == 2


@pytest.mark.parametrize(("seconds", "words"), [(3.0, "create it"), (0.2, "within 0.2 s; nothing was sent")])
async def test_a_topic_that_nobody_makes_is_given_up_after_two_seconds_or_the_time_of_the_send(
    seconds, words
):
    async with ClientScene() as scene:
        transport = AsyncTransport(scene.instance, scene.clock, "none", 4)
        asking = asyncio.ensure_future(transport.find_route("new", seconds))
        await scene.clock.aadvance(min(seconds, 2.0))
        with pytest.raises(RouteError, match=words):
            await asking
