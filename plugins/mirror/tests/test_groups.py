"""Groups go on at the target with the first message that they have not consumed."""

from __future__ import annotations

from mirror_scenes import MirrorScene

from mqframe import AsyncAdmin, AsyncPuller, AsyncPushConsumer, MessageQueue, SubscriptionGroupConfig

GROUP = "billing"
QUEUE = MessageQueue("orders", "broker-a", 0)


async def stand(
    scene: MirrorScene, offset: int, *, queue: MessageQueue = QUEUE, berlin: bool = False
) -> None:
    """Have the group stand at `offset`, at the source or in berlin."""
    cluster = scene.berlin if berlin else scene.tokyo
    async with AsyncAdmin(nameserver=cluster.nameserver, clock=scene.clock) as admin:
        await admin.groups.create(SubscriptionGroupConfig(GROUP, retry_max_times=5))
    async with AsyncPuller(GROUP, nameserver=cluster.nameserver, clock=scene.clock) as puller:
        await puller.commit(queue, offset)


def placed(scene: MirrorScene, queue_id: int = 0) -> int | None:
    return scene.berlin.cluster.broker.service_port.offsets.query(GROUP, "orders", queue_id)


async def moved(scene: MirrorScene, **said) -> None:
    mirror = await scene.begin(groups=[GROUP], **said)
    await scene.copied(mirror)
    await scene.finish(mirror.move_groups())
    await scene.stop(mirror)


async def test_a_group_is_placed_by_its_message_and_not_by_its_number() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", *[b"%d" % each for each in range(10)])
        await scene.copy_once()
        await scene.finish(stand(scene, 7))
        await moved(scene)
        assert placed(scene) == 7
        assert scene.berlin.bodies("orders")[7] == b"7"


async def test_what_was_sent_at_the_target_is_not_skipped() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0", b"1")
        await scene.copy_once()
        await scene.berlin.send("orders", b"of berlin")
        await scene.tokyo.send("orders", b"2", b"3")
        await scene.copy_once()
        await scene.finish(stand(scene, 4))
        await moved(scene)
        assert placed(scene) == 2
        await scene.finish(stand(scene, 3, berlin=True))  # it has consumed that, too
        await moved(scene)
        assert placed(scene) == 5


async def test_it_goes_along_while_the_mirror_runs() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin(groups=["bill*"], groups_seconds=2.0)
        for count in (3, 6):
            await scene.tokyo.send("orders", b"1", b"2", b"3")
            await scene.copied(mirror)
            await scene.finish(stand(scene, count))
            await scene.until(lambda count=count: placed(scene) == count)


async def test_a_group_is_never_moved_back() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", *[b"%d" % each for each in range(10)])
        await scene.copy_once()
        await scene.finish(stand(scene, 4))
        await scene.finish(stand(scene, 9, berlin=True))
        await moved(scene)
        assert placed(scene) == 9


async def test_a_group_with_members_at_the_target_is_left_alone() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", *[b"%d" % each for each in range(10)])
        await scene.copy_once()
        await scene.finish(stand(scene, 4))
        await scene.berlin.cluster.create_topic("others", 1)
        consumer = AsyncPushConsumer(GROUP, nameserver=scene.berlin.nameserver, clock=scene.clock)
        consumer.subscribe("others", "*", lambda messages, context: None)
        await scene.berlin.open(consumer)
        mirror = await scene.begin(groups=[GROUP])
        await scene.copied(mirror)
        await scene.finish(mirror.move_groups())
        assert mirror.groups.active == {GROUP}
        assert placed(scene) is None
        await scene.berlin.close(consumer)
        await scene.finish(mirror.move_groups())
        assert (mirror.groups.active, placed(scene)) == (set(), 4)


async def test_queues_that_share_one_place_it_on_the_first_of_any() -> None:
    async with MirrorScene({"orders": 1}, brokers=(2, 1)) as scene:
        mirror = await scene.begin(groups=[GROUP])
        for number in range(4):
            broker = "broker-b" if number % 2 else "broker-a"
            await scene.tokyo.send("orders", b"%d" % number, broker=broker)
            await scene.copied(mirror)
        await scene.finish(stand(scene, 2))
        await scene.finish(stand(scene, 1, queue=MessageQueue("orders", "broker-b", 0)))
        await scene.finish(mirror.move_groups())
        assert scene.berlin.bodies("orders") == [b"0", b"1", b"2", b"3"]
        assert placed(scene) == 3


async def test_a_group_is_made_with_its_settings() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0")
        await scene.finish(stand(scene, 1))
        await moved(scene)
        admin = await scene.berlin.open(AsyncAdmin(nameserver=scene.berlin.nameserver, clock=scene.clock))
        configs = await scene.finish(admin.groups.configs())
        assert configs[GROUP].retry_max_times == 5
