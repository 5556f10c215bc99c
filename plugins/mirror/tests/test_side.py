"""Each side knows what its cluster is called, and reads and writes there."""

from __future__ import annotations

import pytest
from mirror_scenes import MirrorScene
from mqframe_mirror import ClusterSettings
from mqframe_mirror.side import MirrorSide

from mqframe import Message, MessageQueue
from mqframe.core.errors import FixError, RetryError


async def test_a_cluster_is_called_as_its_brokers_call_it_or_as_was_said() -> None:
    async with MirrorScene() as scene:
        address = scene.tokyo.nameserver
        for settings, name in (
            (ClusterSettings(nameserver=address), "DefaultCluster"),
            (ClusterSettings(nameserver=address, name="tokyo"), "tokyo"),
        ):
            side = MirrorSide(settings, clock=scene.clock)
            assert await scene.finish(side.find_name()) == name
            await scene.finish(side.close())


async def test_a_cluster_without_a_usable_name_is_to_be_given_one() -> None:
    async with MirrorScene(broker={"cluster": "half%full"}) as scene:
        side = MirrorSide(ClusterSettings(nameserver=scene.tokyo.nameserver), clock=scene.clock)
        with pytest.raises(FixError, match="is called half%full: say what"):
            await scene.finish(side.find_name())
        await scene.finish(side.close())


async def test_a_cluster_without_brokers_is_away() -> None:
    async with MirrorScene() as scene:
        await scene.tokyo.cluster.stop_broker()
        side = MirrorSide(ClusterSettings(nameserver=scene.tokyo.nameserver), clock=scene.clock)
        for asked in (side.find_name, side.masters):
            with pytest.raises(RetryError):
                await scene.finish(asked())
        await scene.finish(side.close())
        await scene.tokyo.cluster.start_broker()


async def test_it_reads_writes_and_commits() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        side = MirrorSide(ClusterSettings(nameserver=scene.tokyo.nameserver), clock=scene.clock)
        await scene.finish(side.open("mirror-a-b"))
        await scene.finish(side.ensure_group("mirror-a-b"))
        await scene.finish(side.ensure_group("mirror-a-b"))
        queue = MessageQueue("orders", "broker-a", 0)
        await scene.finish(side.producer.send(Message("orders", b"1"), queue=queue))
        await scene.finish(side.puller.commit(queue, 1))
        assert await scene.finish(side.reader("mirror-a-b").committed(queue)) == 1
        assert side.reader("other") is side.reader("other")
        assert list(await scene.finish(side.masters())) == ["broker-a"]
        assert {"broker-a", "DefaultCluster"} <= await scene.finish(side.hidden_topics())
        await scene.finish(side.close())
