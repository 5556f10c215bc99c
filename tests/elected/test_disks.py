"""Elected groups whose disks are full, fail or do not answer: messages are taken where they can be stored."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from elected.bad_disks import BadDisks
from elected.members import Member
from elected.scene import Scene
from mqframe_testing.simulation import Simulation

from mqframe.core.errors import MqframeError

GAP_SECONDS_MAX = 6
LEADS_SECONDS_MAX = 10


def bodies(first: int, count: int) -> list[bytes]:
    """So large that a few of them need another log file."""
    return [b"%04d" % number + bytes(2000) for number in range(first, first + count)]


async def sends(scene: Scene, member: Member, sent: list[bytes]) -> float:
    """Send them one after the other, all acknowledged; the longest that one took, seconds."""
    longest = 0.0
    for body in sent:
        began = scene.clock.monotonic()
        answer = await scene.send(member, body)
        assert answer.code == 0, answer.remark
        longest = max(longest, scene.clock.monotonic() - began)
    return longest


async def until_in_sync(scene: Scene, *numbers: int, seconds: float = 60) -> Member:
    """Wait until those are in sync; who leads."""
    for _ in range(int(seconds * 4)):
        for leader in scene.members.leaders():
            inner = leader.inner
            if inner is not None and inner.counters().get("replicationMembers", "") == " ".join(
                map(str, numbers)
            ):
                return leader
        await scene.clock.sleep(0.25)
    raise AssertionError([scene.counters(each.name) for each in scene.members.running() if each.inner])


async def another(scene: Scene, before: Member) -> Member:
    """Wait until another one than `before` leads, and takes messages."""
    for _ in range(LEADS_SECONDS_MAX * 10):
        for each in scene.members.leaders():
            if each is not before and each.broker is not None and not each.broker.refusal:
                return each
        await scene.clock.sleep(0.1)
    raise AssertionError(f"only {before.name} leads")


def log_texts(caplog: pytest.LogCaptureFixture, *texts: str) -> int:
    return sum(any(text in record.getMessage() for text in texts) for record in caplog.records)


async def test_a_follower_whose_disk_is_full_holds_nobody_up_and_comes_back_when_there_is_room(
    place: Path, caplog: pytest.LogCaptureFixture, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        disks = BadDisks(place)
        with disks.in_force():
            await scene.start("one", "two", "three")
            leader = await until_in_sync(scene, 1, 2, 3)
            follower = next(each for each in scene.members.running() if each is not leader)
            await sends(scene, leader, bodies(0, 3))
            disks.full.add(follower.folder)
            caplog.clear()
            assert await sends(scene, leader, bodies(3, 40)) < GAP_SECONDS_MAX
            others = [each.number for each in scene.members.running() if each is not follower]
            assert await until_in_sync(scene, *others) is leader
            for number in range(60):
                assert await sends(scene, leader, bodies(43 + number, 1)) < 0.1
                await scene.clock.sleep(1)
            trouble = scene.counters(follower.name)
            assert trouble["replicationFollows"] == "false"
            assert "No space left" in trouble["replicationTrouble"]
            assert log_texts(caplog, "is not followed", "cannot store", "a slave follows") <= 4
            disks.recover(follower.folder)
            assert await until_in_sync(scene, 1, 2, 3) is leader
            assert scene.counters(follower.name)["replicationTrouble"] == ""
            assert (follower.inner and follower.inner.store.log.max_offset) == (
                leader.inner and leader.inner.store.log.max_offset
            )


@pytest.mark.parametrize("kind", ["full", "failing", "stalled"])
async def test_a_leader_that_cannot_store_leaves_the_lead_to_a_follower_that_can(
    place: Path, kind: str, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        disks: Any = BadDisks(place)
        scene.members.flush = "SYNC_FLUSH"
        acknowledged = []
        with disks.in_force():
            await scene.start("one", "two", "three")
            leader = await until_in_sync(scene, 1, 2, 3)
            getattr(disks, kind).add(leader.folder)
            with suppress(MqframeError):
                for body in bodies(0, 20):
                    if (await scene.send(leader, body)).code:
                        # A log without any file forgets that it could not make one: it is asked again.
                        await scene.clock.sleep(0.1)
                    else:
                        acknowledged.append(body)
            successor = await another(scene, leader)
            await sends(scene, successor, bodies(20, 20))
            there = b"".join(await all_bodies(scene, successor))
            assert all(body in there for body in [*acknowledged, *bodies(20, 20)])
            epoch = successor.epoch
            disks.recover(leader.folder)
            await until_in_sync(scene, 1, 2, 3, seconds=120)
            assert successor.leads
            assert successor.epoch == epoch


async def all_bodies(scene: Scene, member: Member) -> list[bytes]:
    inner = member.inner
    assert inner is not None
    from elected.group import readable

    return list(readable(inner, ("t", 0)).bodies)


async def test_a_group_whose_disks_are_all_full_does_not_change_its_leader_again_and_again(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation, 3) as scene:
        disks = BadDisks(place)
        with disks.in_force():
            await scene.start("one", "two", "three")
            await sends(scene, await until_in_sync(scene, 1, 2, 3), bodies(0, 10))
            disks.full.update(each.folder for each in scene.members.running())
            # Who needs another file first learns it first: the others may be asked for theirs.
            await sends_to_whoever_leads(scene, 60)
            [leader] = scene.members.leaders()
            epoch = leader.epoch
            assert epoch <= 3
            assert await sends_to_whoever_leads(scene, 300) == {14}
            assert leader.leads
            assert [each.epoch for each in scene.members.running()] == [epoch] * 3
            for each in scene.members.running():
                disks.recover(each.folder)
            assert await until_in_sync(scene, 1, 2, 3, seconds=120) is leader
            await sends(scene, leader, bodies(400, 10))


async def sends_to_whoever_leads(scene: Scene, seconds: int) -> set[int]:
    """One a second; the codes of the answers."""
    codes = set()
    for number in range(seconds):
        for leader in scene.members.leaders():
            if leader.broker is not None and leader.inner is not None:
                codes.add((await scene.send(leader, bodies(number, 1)[0])).code)
        await scene.clock.sleep(1)
    return codes


async def test_a_pair_of_which_both_have_to_store_keeps_its_leader_whose_disk_is_full(
    place: Path, simulation: Simulation
) -> None:
    async with Scene(place, simulation) as scene:
        disks = BadDisks(place)
        scene.members.replication = {"min_in_sync": 2}
        with disks.in_force():
            await scene.start("one", "two")
            leader = await until_in_sync(scene, 1, 2)
            epoch = leader.epoch
            disks.full.add(leader.folder)
            for number in range(60):
                await scene.send(leader, bodies(number, 1)[0])
                await scene.clock.sleep(1)
            assert (leader.leads, leader.epoch) == (True, epoch)
