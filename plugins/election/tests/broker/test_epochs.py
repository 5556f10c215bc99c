"""The epochs of a log, as operators are shown them."""

from __future__ import annotations

from pathlib import Path

from elected.scene import Scene
from mqframe_testing.simulation import Simulation

from mqframe.core.cluster.broker_info import EpochEntry, EpochEntryCache
from mqframe.core.requests.admin import GetBrokerEpochCache
from mqframe.core.wire.loose_json import decode

TO_THE_LOGS_END = 2**63 - 1


async def test_each_broker_of_a_group_tells_the_terms_of_its_log(place: Path, simulation: Simulation) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        first = await scene.leader()
        await scene.clock.sleep(3)
        await scene.sent(first, b"a", b"b")
        assert first.inner is not None
        end_of_first = first.inner.store.log.max_offset
        await scene.kill(first.name)
        second = await scene.leader()
        await scene.sent(second, b"c")
        await scene.clock.sleep(3)
        assert second.inner is not None
        end = second.inner.store.log.max_offset
        entries = [EpochEntry(end_of_first, 1, 0), EpochEntry(TO_THE_LOGS_END, 2, end_of_first)]
        asked = scene.members.running()
        assert len(asked) == 2
        for member in asked:
            answer = await scene.client.invoke(member.address, GetBrokerEpochCache(), timeout=30)
            told = decode(bytes(answer.body), EpochEntryCache)
            assert told == EpochEntryCache(member.number, "broker-a", "DefaultCluster", entries, end)
