"""A follower of an elected group: whom it follows, and what it shows."""

from __future__ import annotations

from pathlib import Path

from elected.scene import Scene
from mqframe_testing.simulation import Simulation

BODIES = [b"message %d" % number for number in range(5)]


async def test_a_follower_has_what_its_leader_has_and_shows_what_is_confirmed(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        leader = await scene.leader()
        follower = scene["two" if leader.name == "one" else "one"]
        await scene.clock.sleep(3)
        await scene.sent(leader, *BODIES)
        await scene.clock.sleep(2)  # so often it copies the table of topics
        assert await scene.bodies(follower) == BODIES
        counters = scene.counters(follower.name)
        assert counters["replicationFollows"] == "true"
        assert counters["replicationLeader"] == str(leader.number)
        answer = await scene.send(follower, b"at the wrong broker")
        assert answer.code == 14


async def test_a_second_broker_with_one_number_takes_no_part_and_says_so(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one")
        await scene.leader()
        scene["two"].number = 1
        await scene.start("two")
        await scene.clock.sleep(8)
        two = scene["two"].election
        assert two is not None
        assert not two.leads
        assert "replication.id = 1 of broker-a is that of another broker" in two.elector.trouble
        assert "give each broker of the group a number of its own" in two.elector.trouble
