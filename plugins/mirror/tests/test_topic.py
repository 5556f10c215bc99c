"""The target's topic has room for all queues, also for those that are added while a mirror runs."""

from __future__ import annotations

from mirror_scenes import MirrorScene

from mqframe import MessageQueue
from mqframe.core.cluster.topic_bodies import TopicConfig


def config(scene: MirrorScene, topic: str = "orders", broker: int = 0) -> TopicConfig:
    found = scene.berlin.cluster.brokers[broker].service_port.topics.find(topic)
    assert found is not None
    return found


async def test_the_topic_is_made_with_as_many_queues_and_its_type() -> None:
    async with MirrorScene({}) as scene:
        await scene.tokyo.cluster.create_topic("orders", 5, order=True, attributes="+message.type=FIFO")
        await scene.copy_once()
        made = config(scene)
        assert (made.read_queue_nums, made.write_queue_nums, made.perm, made.order) == (5, 5, 6, True)
        assert made.attributes["message.type"] == "FIFO"


async def test_a_topic_that_is_there_is_given_more_queues_and_no_fewer() -> None:
    async with MirrorScene({"orders": 3, "others": 3}) as scene:
        await scene.berlin.cluster.create_topic("orders", 2, perm=6)
        await scene.berlin.cluster.create_topic("others", 8, perm=6)
        await scene.copy_once(topics=["orders", "others"])
        assert config(scene).write_queue_nums == 3
        assert config(scene, "others").write_queue_nums == 8


async def test_queues_that_are_added_are_copied_and_those_that_go_are_not() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin()
        await scene.tokyo.cluster.create_topic("orders", 3)
        await scene.tokyo.send("orders", b"new", queue_id=2)
        await scene.until(lambda: len(mirror.topics["orders"].lanes) == 3)
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders", 2) == [b"new"]
        await scene.tokyo.cluster.create_topic("orders", 2)
        gone = MessageQueue("orders", "broker-a", 2)
        await scene.until(lambda: gone not in mirror.topics["orders"].lanes)
        await scene.tokyo.send("orders", b"kept", queue_id=1)
        await scene.copied(mirror)
        assert scene.berlin.bodies("orders", 1) == [b"kept"]


async def test_brokers_have_brokers_of_their_own_where_there_are_enough() -> None:
    async with MirrorScene({"orders": 2}, brokers=(2, 3)) as scene:
        await scene.tokyo.send("orders", b"a", queue_id=1)
        await scene.tokyo.send("orders", b"b", queue_id=1, broker="broker-b")
        await scene.copy_once()
        assert scene.berlin.bodies("orders", 1) == [b"a"]
        assert scene.berlin.bodies("orders", 1, broker=1) == [b"b"]
        assert scene.berlin.cluster.brokers[2].service_port.topics.find("orders") is None


async def test_a_topic_that_is_deleted_at_the_source_ends_and_stays_at_the_target() -> None:
    from mqframe import AsyncAdmin

    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"1")
        mirror = await scene.begin()
        await scene.copied(mirror)
        admin = await scene.tokyo.open(AsyncAdmin(nameserver=scene.tokyo.nameserver, clock=scene.clock))
        await scene.finish(admin.topics.delete("orders"))
        await scene.until(lambda: not mirror.topics)
        assert scene.berlin.bodies("orders") == [b"1"]
