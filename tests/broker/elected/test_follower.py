"""A follower of an elected group: whom it follows, what it cuts, and what it refuses to cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from elected.members import Engine
from elected.scene import Scene, play

from mqframe.broker.elected.follower import last_whole
from mqframe.store.upkeep.quarantine import Report

BODIES = [b"message %d" % number for number in range(5)]


def test_a_follower_has_what_its_leader_has_and_shows_what_is_confirmed(place: Path) -> None:
    async def scenario(scene: Scene) -> None:
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

    play(place, scenario)


def test_what_was_confirmed_is_not_cut_where_the_engine_and_a_disk_were_emptied(place: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start("one", "two")
        await scene.sent(await scene.leader(), *BODIES)
        await scene.clock.sleep(3)
        for name in ("one", "two"):
            await scene.members.stop(name, kill=False)
        scene.members.engine = Engine(scene.simulation)
        scene["one"].disk_life += 1  # an empty folder
        await scene.start("one")
        await scene.leader()
        await scene.start("two")
        await scene.clock.sleep(8)
        trouble = scene.counters("two")["replicationTrouble"]
        assert "Nothing is cut. Keep this store, and start the broker with an empty one" in trouble
        inner = scene["two"].inner
        assert inner is not None
        assert inner.store.max_offset > 0
        assert not (place / scene["two"].folder / "cut").exists()

    play(place, scenario)


def test_logs_that_differ_under_the_same_epochs_are_told_apart_by_their_last_record(place: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start("one", "two")
        await scene.sent(await scene.leader(), *BODIES)
        await scene.clock.sleep(3)
        for name in ("one", "two"):
            await scene.members.stop(name, kill=False)
        # The engine counts epochs from the beginning, and so does a broker with an empty folder.
        scene.members.engine = Engine(scene.simulation)
        scene["one"].disk_life += 1
        await scene.start("one")
        await scene.sent(await scene.leader(), *[b"other" + body for body in BODIES])
        await scene.start("two")
        await scene.clock.sleep(8)
        trouble = scene.counters("two")["replicationTrouble"]
        assert "the logs differ, though their epochs do not tell. Nothing is cut" in trouble
        assert not (place / scene["two"].folder / "cut").exists()
        assert scene.counters("one")["replicationMembers"] == "1"

    play(place, scenario)


def test_a_second_broker_with_one_number_takes_no_part_and_says_so(place: Path) -> None:
    async def scenario(scene: Scene) -> None:
        await scene.start("one")
        await scene.leader()
        scene["two"].number = 1
        await scene.start("two")
        await scene.clock.sleep(8)
        two = scene["two"].broker
        assert two is not None
        assert not two.leads
        assert "replication.id = 1 of broker-a is that of another broker" in two.elector.trouble
        assert "give each broker of the group a number of its own" in two.elector.trouble

    play(place, scenario)


@pytest.mark.parametrize(
    ("offset", "cut"), [(0, 0), (100, 100), (101, 100), (199, 100), (200, 200), (250, 250), (301, 300)]
)
def test_a_log_is_cut_where_a_record_begins_though_parts_are_missing(offset: int, cut: int) -> None:
    missing = [Report(start, end, False, "", 0, 0) for start, end in ((100, 200), (300, 400))]
    assert last_whole(offset, missing) == cut
