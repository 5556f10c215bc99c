"""What operators are shown of an elected group while its brokers die and come."""

from __future__ import annotations

from pathlib import Path

from elected.members import Member
from elected.scene import Scene
from mqframe_admin.rules.replica import Replica
from mqframe_testing.simulation import Simulation
from stories.machines import NAMES_PORT

from mqframe import AsyncAdmin


async def in_sync(scene: Scene, count: int) -> Member:
    leader = await scene.leader()
    for _ in range(120):
        if len(scene.counters(leader.name)["replicationMembers"].split()) == count:
            return leader
        await scene.clock.sleep(0.25)
    raise AssertionError(scene.counters(leader.name))


async def status(scene: Scene) -> dict[str, Replica]:
    """Of each broker, by its address; by its number where that is not known."""
    async with AsyncAdmin(nameserver=f"127.0.0.1:{NAMES_PORT}", clock=scene.clock) as admin:
        found = await admin.replicas.list()
    return {each.address or str(each.broker_id): each for each in found}


async def test_a_dead_follower_is_shown_for_as_long_as_it_is_away(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        leader = await in_sync(scene, 3)
        found = await status(scene)
        assert found.keys() == {each.address for each in scene.members.running()}
        assert {each.trouble for each in found.values()} == {""}
        dead = next(each for each in scene.members.running() if each is not leader)
        await scene.kill(dead.name)
        await scene.clock.sleep(60)
        found = await status(scene)
        assert len(found) == 3
        gone = found[str(dead.number)]
        assert (gone.broker_id, "is not there" in gone.trouble) == (dead.number, True)
        await scene.kill(leader.name)
        successor = await scene.leader()
        await scene.clock.sleep(60)
        found = await status(scene)
        assert {"is not there" in found[str(each.number)].trouble for each in (dead, leader)} == {True}
        assert found[successor.address].role == "LEADER"
        await scene.start(dead.name, leader.name)
        await in_sync(scene, 3)
        await scene.clock.sleep(30)
        assert {each.trouble for each in (await status(scene)).values()} == {""}


async def test_all_brokers_are_shown_at_each_moment_after_the_leader_died(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        leader = await in_sync(scene, 3)
        await scene.kill(leader.name)
        for _ in range(40):
            await scene.clock.sleep(0.25)
            found = await status(scene)
            numbers = {str(each.number) for each in scene.members.all.values()}
            addresses = {each.address: str(each.number) for each in scene.members.all.values()}
            assert {addresses.get(key, key) for key in found} == numbers
        assert [each.role for each in found.values()].count("LEADER") == 1


async def test_a_send_is_not_acknowledged_when_its_copies_do_not_come_and_later_ones_fail(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        scene.members.replication = {"min_in_sync": 2}
        await scene.start("one", "two")
        leader = await in_sync(scene, 2)
        other = next(each for each in scene.members.running() if each is not leader)
        scene.network.block(leader.name, other.name)
        assert (await scene.send(leader, b"under way")).code == 12  # FLUSH_SLAVE_TIMEOUT
        await scene.kill(other.name)
        scene.network.heal()
        await scene.clock.sleep(30)
        answer = await scene.send(leader, b"later")
        assert (answer.code, "in-sync replicas not enough" in answer.remark) == (1, True)
