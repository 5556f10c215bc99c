"""Where queues go on is found by what both clusters hold."""

from __future__ import annotations

from mirror_scenes import MirrorScene
from mqframe_mirror import Mirror
from mqframe_mirror.rules.resuming import Arrived
from mqframe_mirror.starting import ARRIVED_KEPT, arrived, find_positions, position_of

from mqframe import MessageQueue

QUEUE = MessageQueue("orders", "broker-a", 0)


async def idle(scene: MirrorScene, **said) -> Mirror:
    """A mirror that copies nothing by itself."""
    return await scene.begin(topics=["nothing"], **said)


async def test_the_last_messages_at_the_target_are_known_by_their_queue() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        sent = await scene.tokyo.send("orders", *[b"%d" % each for each in range(ARRIVED_KEPT + 10)])
        await scene.copy_once()
        mirror = await idle(scene)
        target, found = await scene.finish(arrived(mirror.link, QUEUE, whole=True))
        assert target.end == len(sent)
        assert list(found) == [("broker-a", 0)]
        last = found["broker-a", 0]
        assert len(last) == ARRIVED_KEPT
        assert last[-1] == Arrived(len(sent) - 1, sent[-1].message_id)


async def test_committed_offsets_say_what_is_looked_through() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0", b"1", b"2")
        await scene.copy_once()
        mirror = await idle(scene)
        await scene.finish(mirror.target.puller.commit(QUEUE, 2))
        _, found = await scene.finish(arrived(mirror.link, QUEUE, whole=False))
        assert [each.offset for each in found["broker-a", 0]] == [2]


async def test_a_message_of_another_key_shows_that_the_queue_is_another() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        sent = await scene.tokyo.send("orders", b"0", b"1", b"2")
        mirror = await idle(scene)

        async def position(committed: int | None, *there: Arrived) -> int:
            return await scene.finish(position_of(mirror.link, QUEUE, committed, there))

        right = Arrived(1, sent[1].message_id)
        assert await position(None) == 0
        assert await position(0, right) == 2
        assert await position(None, Arrived(1, "another")) == 0
        assert await position(None, right, Arrived(7, "lost at the source")) == 2
        assert await position(3, right) == 3
        assert await position(9) == 0


async def test_the_last_ones_are_those_since_the_mirror_began_first() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0")
        await scene.pass_time(5)
        mirror = await idle(scene, start="last")
        await scene.tokyo.send("orders", b"1")
        await scene.tokyo.cluster.brokers[0].register()
        await scene.berlin.cluster.create_topic("orders", 1)
        positions, targets = await scene.finish(find_positions(mirror.link, {QUEUE: QUEUE}))
        assert positions == {QUEUE: 1}
        assert targets[QUEUE].end == 0
