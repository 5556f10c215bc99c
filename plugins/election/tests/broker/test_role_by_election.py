"""A broker of an elected group: it leads, follows, and is made anew when that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from elected.members import Members
from elected.scene import Scene
from mqframe_election.broker.role_by_election import RoleByElection
from mqframe_election.settings import ElectionSettings
from mqframe_testing.simulation import Simulation

from mqframe.core.errors import MqframeError, SettingError
from mqframe.core.requests.election import ForceElection
from mqframe.core.wire.loose_json import loads
from mqframe.hooks.manager import PluginManager

BODIES = [b"message %d" % number for number in range(5)]


async def test_what_was_acknowledged_is_there_in_its_order_when_another_broker_leads(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        await scene.start("one", "two", "three")
        first = await scene.leader()
        await scene.clock.sleep(2)
        await scene.sent(first, *BODIES)
        await scene.kill(first.name)
        second = await scene.leader()
        assert second is not first
        assert second.epoch > 1
        await scene.sent(second, b"last")
        assert await scene.bodies(second) == [*BODIES, b"last"]


async def test_a_leader_that_returns_has_its_tail_cut_and_kept_and_says_so(
    place: Path, caplog: pytest.LogCaptureFixture, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        old = await scene.leader()
        new = scene["two" if old.name == "one" else "one"]
        await scene.clock.sleep(3)
        await scene.sent(old, *BODIES)
        scene.network.block(old.name, new.name)
        sending = scene.simulation.host("client").spawn(scene.send(old, b"nobody else has it"))
        await scene.clock.sleep(0.2)
        scene.network.lose_power(old.name)  # what is under way never arrives
        await scene.kill(old.name)
        scene.network.heal()
        answer = await _outcome(sending)
        assert answer is None or answer.code
        assert await scene.leader() is new
        await scene.sent(new, b"in its place")
        await scene.start(old.name)
        await scene.clock.sleep(5)
        cut = list((place / old.folder / "cut").glob("*.json"))
        assert len(cut) == 1
        kept = (place / old.folder / "cut" / loads(cut[0].read_bytes())["file"]).read_bytes()
        assert b"nobody else has it" in kept
        assert "the end of this log was cut off; what was cut is kept" in caplog.text
        inner = old.inner, new.inner
        assert inner[0] is not None
        assert inner[1] is not None
        assert inner[0].store.log.max_offset == inner[1].store.log.max_offset
        assert await scene.bodies(old) == await scene.bodies(new) == [*BODIES, b"in its place"]


async def _outcome(sending: Any) -> Any:
    try:
        return await sending
    except MqframeError:
        return None


async def test_a_broker_alone_takes_nothing_where_two_have_to_be_in_sync(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        scene.members.replication = {"min_in_sync": 2}
        await scene.start("one", "two")
        leader = await scene.leader()
        await scene.sent(leader, *BODIES)
        await scene.kill("two" if leader.name == "one" else "one")
        await scene.clock.sleep(3)
        answer = await scene.send(leader, b"alone")
        assert answer.code == 1
        assert "in-sync replicas not enough" in str(answer.remark)


async def test_an_engine_that_is_away_at_the_start_is_told_of_and_waited_for(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        scene.members.engine.memory.go_away()
        await scene.start("one")
        await scene.clock.sleep(20)
        one = scene["one"]
        assert one.election is not None
        assert not one.leads
        assert "did not answer" in one.election.elector.trouble
        scene.members.engine.memory.come_back()
        assert await scene.leader() is one
        await scene.sent(one, *BODIES)


async def test_an_operator_is_told_what_a_forced_election_may_lose_before_it_is_done(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        await scene.start("one", "two")
        leader = await scene.leader()
        other = scene["two" if leader.name == "one" else "one"]
        await scene.clock.sleep(3)
        await scene.sent(leader, *BODIES)
        await scene.kill(other.name)
        await scene.clock.sleep(3)
        await scene.sent(leader, b"lost")
        await scene.kill(leader.name)
        await scene.start(other.name)
        await scene.clock.sleep(10)
        assert not other.leads
        assert other.election is not None
        assert f"only broker {leader.number} had all that was acknowledged" in other.election.elector.trouble
        told = await scene.client.invoke(other.address, ForceElection(), timeout=30)
        assert (told.code, told.ext["members"]) == (0, str(leader.number))
        await scene.clock.sleep(10)
        assert not other.leads
        await scene.client.invoke(other.address, ForceElection(accept_loss=True), timeout=30)
        assert await scene.leader() is other
        assert await scene.bodies(other) == BODIES
        await scene.sent(other, b"goes on")
        await scene.start(leader.name)  # it gives up what was given up
        await scene.clock.sleep(6)
        assert await scene.bodies(leader) == [*BODIES, b"goes on"]


@pytest.mark.parametrize(
    ("coordination", "told"),
    [("", "needs election.coordination"), ("etcdd", "etcdd")],
)
def test_an_engine_that_is_not_named_or_not_there_is_refused(
    place: Path, coordination: str, told: str
) -> None:
    with Simulation(1) as simulation:
        members = Members(place, simulation, 1, None)
        sections = attrs.evolve(
            members.sections(members.all["one"]), added=(ElectionSettings(coordination=coordination),)
        )
        with pytest.raises(MqframeError, match=told):
            RoleByElection(sections, simulation.clock, PluginManager(), boot="1")


def test_a_replication_port_that_nobody_knows_before_is_refused(place: Path) -> None:
    with Simulation(1) as simulation:
        members = Members(place, simulation, 1, None)
        members.replication = {"port": 0}
        with pytest.raises(SettingError, match=r"replication\.port = 0"):
            members.sections(members.all["one"])


def test_a_machine_whose_boots_have_no_names_is_refused(place: Path) -> None:
    with Simulation(1) as simulation:
        members = Members(place, simulation, 1, None)
        member = members.all["one"]
        plugins = members.engine.plugins(member)
        with pytest.raises(SettingError, match="does not name the boot"):
            RoleByElection(members.sections(member), simulation.clock, plugins, boot="")
        assert not (place / member.folder).exists()
