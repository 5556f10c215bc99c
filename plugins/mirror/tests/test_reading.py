"""Reads of queues are whole, or say that they are not."""

from __future__ import annotations

import pytest
from mirror_scenes import MirrorScene
from mqframe_mirror.reading import bounds, message_at, placed, read, told

from mqframe import AsyncPuller, MessageQueue, RetryError

QUEUE = MessageQueue("orders", "broker-a", 0)


async def reader(scene: MirrorScene, cluster) -> AsyncPuller:
    return await cluster.open(AsyncPuller(nameserver=cluster.nameserver, clock=scene.clock))


async def test_a_stretch_of_a_queue_is_read_whole() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", *[b"%d" % each for each in range(100)])
        puller = await reader(scene, scene.tokyo)
        assert await bounds(puller, QUEUE) == (0, 100)
        assert [each.body async for each in read(puller, QUEUE, 10, 90)] == [b"%d" % n for n in range(10, 90)]
        found = await message_at(puller, QUEUE, 99)
        assert found is not None
        assert (found.body, found.broker_name) == (b"99", "broker-a")


async def test_what_is_not_there_is_told() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        await scene.tokyo.send("orders", b"0")
        puller = await reader(scene, scene.tokyo)
        with pytest.raises(RetryError, match="was read to offset 1"):
            [each async for each in read(puller, QUEUE, 0, 2)]


async def test_copies_are_read_with_their_marks_and_keys() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        [sent] = await scene.tokyo.send("orders", b"0")
        await scene.copy_once()
        await scene.berlin.send("orders", b"of berlin")
        puller = await reader(scene, scene.berlin)
        (copy, key), (own, none) = [each async for each in placed(puller, QUEUE, 0, 2)]
        assert copy.mark is not None
        assert (copy.offset, copy.mark.cluster, copy.mark.offset, key) == (0, "tokyo", 0, sent.message_id)
        assert (own.offset, own.mark, none) == (1, None, "")


def test_failures_are_told_with_their_kind() -> None:
    assert told(RetryError("away")) == "RetryError: away"
