"""The retry topic of a group: whom its messages go to, and how its route is found."""

from __future__ import annotations

import asyncio

from mqframe_testing.consuming import ClientScene, received

from mqframe.client.consuming.push.listener import ListenerContext, subscription
from mqframe.client.consuming.push.retry_topic import RetryTopicSubscription, retry_subscription
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.requests.nameserver import GetRouteinfoByTopic

RETRY = "%RETRY%g"


def asked(scene) -> int:
    return sum(request.topic == RETRY for request in scene.broker.sent(GetRouteinfoByTopic))


async def test_retried_messages_go_to_the_listener_of_their_topic() -> None:
    async def waiting(messages, context):
        return ("waiting", messages[0].queue_offset)

    def plain(messages, context):
        return ("plain", messages[0].queue_offset)

    async with ClientScene():
        table = {
            "a": subscription("a", "*", plain, 1, 1),
            "b": subscription("b", "*", waiting, 1, 1),
        }
        retry = retry_subscription("g", 5, table.get, asyncio.get_running_loop())
        assert (retry.topic, retry.filter.expression, retry.version, retry.is_async) == (RETRY, "*", 5, False)
        message = received(3, topic="a")
        context = ListenerContext(message.queue, "g")
        assert retry.function([message], context) == ("plain", 3)
        in_thread = asyncio.to_thread(retry.function, [received(4, topic="b")], context)
        assert await in_thread == ("waiting", 4)
        assert retry.function([received(5, topic="c")], context) is ConsumeResult.RECONSUME_LATER


async def test_the_route_is_looked_for_ever_slower_until_it_is_there() -> None:
    async with ClientScene() as scene:
        await scene.instance.route("orders")
        search = RetryTopicSubscription("g", scene.instance, scene.clock)
        search.look(["orders"])
        await scene.pass_time()
        assert asked(scene) == 1
        await scene.pass_time(0.1)
        assert asked(scene) == 2
        await scene.pass_time(1.5)
        assert asked(scene) == 5
        scene.broker.topics[RETRY] = 1
        await scene.pass_time(10.0)
        assert asked(scene) == 6
        assert scene.instance.routes.known(RETRY) is not None
        search.look(["orders"])
        await scene.pass_time(10.0)
        assert asked(scene) == 6


async def test_the_search_ends_by_itself_and_at_the_stop() -> None:
    async with ClientScene() as scene:
        await scene.instance.route("orders")
        search = RetryTopicSubscription("g", scene.instance, scene.clock)
        search.look(["orders"])
        await scene.pass_time(0.05)
        await search.stop()
        before = asked(scene)
        await scene.pass_time(25.0)
        assert asked(scene) == before
        search.look(["orders"])
        await scene.pass_time(29.0)
        assert asked(scene) == before + 30
