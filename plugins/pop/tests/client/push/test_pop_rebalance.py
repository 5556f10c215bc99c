"""What is popped: all brokers of all topics, as they come and go; and where a new group begins there."""

from __future__ import annotations

from pop_push_scenes import GROUP, PopPushScene, numbered

from mqframe.core.messages.message import MessageQueue


async def test_a_broker_that_comes_later_is_popped_after_the_next_look_at_the_routes() -> None:
    async with PopPushScene(brokers=2) as scene:
        await scene.finish(scene.cluster.stop_broker(1))
        await scene.pass_time(130.0)
        member = await scene.join()
        await scene.put(b"here", queue=MessageQueue("orders", "broker-a", 0))
        await scene.until(lambda: member.bodies == [b"here"])
        await scene.finish(scene.cluster.start_broker(1))
        await scene.pass_time(70.0)
        await scene.put(b"there", queue=MessageQueue("orders", "broker-b", 0))
        await scene.until(lambda: member.bodies == [b"here", b"there"], 1.0)


async def test_a_topic_that_is_subscribed_later_begins_where_it_ended_then() -> None:
    async with PopPushScene() as scene:
        await scene.cluster.create_topic("bills", 2)
        await scene.put(*numbered(b"old", 6), topic="bills")
        member = await scene.join(consume_from="last")
        member.consumer.subscribe("bills", "*", member.handle)
        await scene.pass_time(1.0)
        await scene.put(b"new", topic="bills")
        await scene.until(lambda: member.got)
        await scene.pass_time(70.0)
        assert member.got == [(b"new", 0)]
        assert scene.lag(topic="bills") == 0


async def test_a_group_that_begins_at_the_first_message_gets_all_of_a_topic_that_comes_later() -> None:
    async with PopPushScene() as scene:
        member = await scene.join(consume_from="first")
        member.consumer.subscribe("bills", "*", member.handle)
        await scene.pass_time(30.0)
        await scene.cluster.create_topic("bills", 2)
        await scene.put(*numbered(b"b", 6), topic="bills")
        await scene.until(lambda: len(member.got) == 6, 40.0)
        assert sorted(member.got) == [(body, 0) for body in numbered(b"b", 6)]
        assert scene.lag(GROUP, "bills") == 0
