"""An elected leader: when it serves, and what it says of its group."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from elected.scene import Scene
from mqframe_testing.simulation import Simulation
from stories.machines import NAMES_PORT

from mqframe.broker.cluster.registration import LISTED_SECONDS
from mqframe.core.cluster.route_bodies import MemberGroupBody
from mqframe.core.errors import MqframeError
from mqframe.core.requests.messages import PullMessage
from mqframe.core.requests.nameserver import GetBrokerMemberGroup, UnregisterBroker
from mqframe.core.wire.loose_json import decode

BODIES = [b"message %d" % number for number in range(5)]


async def test_a_leader_says_its_epoch_its_set_and_what_is_confirmed(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        leader = await scene.leader()
        await scene.clock.sleep(3)
        await scene.sent(leader, *BODIES)
        assert leader.inner is not None
        counters = scene.counters(leader.name)
        assert counters["replicationEpoch"] == "1"
        assert counters["replicationLeader"] == str(leader.number)
        assert counters["replicationMembers"] == "1 2 3"
        assert counters["replicationConfirmed"] == str(leader.inner.store.log.max_offset)
        assert counters["replicationTrouble"] == ""


async def test_a_leader_serves_nobody_before_all_that_its_log_held_is_confirmed(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        first = await scene.leader()
        await scene.clock.sleep(3)
        await scene.sent(first, *BODIES)
        others = [each for each in scene.members.running() if each is not first]
        await scene.clock.sleep(0.5)
        scene.network.delay(first.name, others[1].name, 30, one_way=True)
        sending = scene.simulation.host("client").spawn(scene.send(first, b"not confirmed"))
        await scene.clock.sleep(0.2)
        scene.network.block(others[0].name, others[1].name)
        await scene.kill(first.name)
        while not (next_ := [each for each in others if each.leads]):
            await scene.clock.sleep(0.05)
        leader = next_[0]
        assert leader is others[0]
        with contextlib.suppress(MqframeError):
            assert (await sending).code != 0
        while scene.counters(leader.name)["replicationMembers"].count(" ") and leader.inner is not None:
            await scene.clock.sleep(0.1)
            with pytest.raises(MqframeError):  # nobody listens there yet
                await scene.client.invoke(leader.address, _pull(), timeout=0.1)
        assert await scene.leader() is leader
        assert await scene.bodies(leader) == [*BODIES, b"not confirmed"]
        scene.network.heal()


def _pull() -> PullMessage:
    return PullMessage(
        topic="t", consumer_group="g", queue_id=0, max_msg_nums=32, queue_offset=0, sys_flag=0,
        commit_offset=0, suspend_timeout_millis=0, sub_version=0, subscription="*",
    )  # fmt: skip


async def test_a_topic_that_is_known_by_its_messages_only_is_made(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        first = await scene.leader()
        await scene.clock.sleep(3)
        await scene.sent(first, b"of a topic whose table was not copied yet")
        await scene.kill(first.name)
        second = await scene.leader()
        assert await scene.bodies(second) == [b"of a topic whose table was not copied yet"]


async def test_a_leader_that_a_name_server_lost_is_listed_again_within_seconds(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        leader = await scene.leader()
        names = f"127.0.0.1:{NAMES_PORT}"

        async def listed() -> str | None:
            answer = await scene.client.invoke(names, GetBrokerMemberGroup("DefaultCluster", "broker-a"))
            return decode(bytes(answer.body), MemberGroupBody).broker_member_group.broker_addrs.get(0)

        assert await listed() == leader.address
        lost = UnregisterBroker(
            broker_name="broker-a", broker_addr=leader.address, cluster_name="DefaultCluster", broker_id=0
        )
        await scene.client.invoke(names, lost)
        assert await listed() is None
        await scene.clock.sleep(LISTED_SECONDS + 0.5)
        assert await listed() == leader.address
