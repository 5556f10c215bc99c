"""What brokers of elected groups answer to who wants another one to lead."""

from __future__ import annotations

from pathlib import Path

from elected.scene import Scene
from mqframe_admin.requests import HandOverLead
from mqframe_testing.simulation import Simulation

BODIES = [b"message %d" % number for number in range(5)]


async def test_a_leader_hands_its_lead_to_the_one_named_and_nothing_is_missing_there(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        old = await scene.leader()
        await scene.clock.sleep(3)
        await scene.sent(old, *BODIES)
        heir = next(each for each in reversed(scene.members.running()) if each is not old)
        answer = await scene.client.invoke(old.address, HandOverLead(heir.number), timeout=30)
        assert (answer.code, answer.ext["epoch"], answer.ext["to"]) == (0, "1", str(heir.number))
        new = await scene.leader(4)
        assert (new, new.epoch) == (heir, 2)
        await scene.sent(new, b"last")
        assert await scene.bodies(new) == [*BODIES, b"last"]
        await scene.clock.sleep(3)
        assert scene.counters(new.name)["replicationMembers"] == "1 2 3"


async def test_a_leader_that_may_not_hand_over_says_why_and_takes_messages(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        leader = await scene.leader()
        other = scene["two" if leader.name == "one" else "one"]
        await scene.clock.sleep(3)
        refused = await scene.client.invoke(leader.address, HandOverLead(7), timeout=30)
        assert refused.code == 1
        assert "broker 7 is not handed the lead: it is not there (in sync: 1, 2" in refused.remark
        follows = await scene.client.invoke(other.address, HandOverLead(other.number), timeout=30)
        assert follows.code == 1
        assert f"no lead to hand over: broker {leader.number} at {leader.address} leads" in follows.remark
        await scene.sent(leader, *BODIES)
        assert await scene.bodies(leader) == BODIES
