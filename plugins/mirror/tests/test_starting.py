"""Where queues go on is found by what both clusters hold."""

from __future__ import annotations

from mirror_scenes import MirrorScene
from mqframe_mirror import Mirror
from mqframe_mirror.rules.resuming import Arrived
from mqframe_mirror.starting import find_positions, last_arrived, position_of

from mqframe import MessageQueue

QUEUE = MessageQueue("orders", "broker-a", 0)
LANE = "broker-a", 0


async def idle(scene: MirrorScene, **said) -> Mirror:
    """A mirror that copies nothing by itself."""
    return await scene.begin(topics=["nothing"], **said)


async def test_the_last_message_of_a_queue_that_arrived_is_known() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        sent = await scene.tokyo.send("orders", b"0", b"1", b"2")
        await scene.copy_once()
        mirror = await idle(scene)
        for end, last in ((3, 2), (9, 2), (2, 1)):
            target, found = await scene.finish(last_arrived(mirror.link, QUEUE, {LANE: end}, whole=True))
            assert target.end == 3
            assert found == {LANE: Arrived(last, sent[last].message_id)}
        for ends in ({LANE: 0}, {("broker-b", 0): 3}):
            _, found = await scene.finish(last_arrived(mirror.link, QUEUE, ends, whole=True))
            assert found == {}


async def test_committed_offsets_say_what_is_looked_through() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0", b"1", b"2")
        await scene.copy_once()
        mirror = await idle(scene)
        await scene.finish(mirror.target.puller.commit(QUEUE, 3))
        for whole in (False, True):
            _, found = await scene.finish(last_arrived(mirror.link, QUEUE, {LANE: 3}, whole=whole))
            assert bool(found) is whole


async def test_a_message_of_another_key_shows_that_the_queue_is_another() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        sent = await scene.tokyo.send("orders", b"0", b"1", b"2")
        mirror = await idle(scene)

        async def position(committed: int | None, last: Arrived | None = None) -> int:
            return await scene.finish(position_of(mirror.link, QUEUE, committed, last))

        right = Arrived(1, sent[1].message_id)
        assert await position(None) == 0
        assert await position(0, right) == 2
        assert await position(None, Arrived(1, "another")) == 0
        assert await position(3, right) == 3
        assert await position(9) == 0


async def test_the_last_ones_are_those_since_the_mirror_began_first() -> None:
    async with MirrorScene({"orders": 2}) as scene:
        for queue_id in (0, 1):
            await scene.tokyo.send("orders", b"0", queue_id=queue_id)
        await scene.pass_time(5)
        mirror = await idle(scene, start="last")
        await scene.tokyo.send("orders", b"1")
        await scene.berlin.cluster.create_topic("orders", 2)
        queues = [QUEUE, QUEUE._replace(queue_id=1)]
        positions, targets = await scene.finish(
            find_positions(mirror.link, dict(zip(queues, queues, strict=True)))
        )
        assert positions == dict.fromkeys(queues, 1)
        assert [targets[queue].end for queue in queues] == [0, 0]
