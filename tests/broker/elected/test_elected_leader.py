"""The leader that a follower sees: whose log is compared, what is cut, and what is never cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from elected.members import Engine
from elected.scene import Scene, play

from mqframe.broker.elected.elected_leader import last_whole
from mqframe.store.upkeep.quarantine import Report

BODIES = [b"message %d" % number for number in range(5)]


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


@pytest.mark.parametrize(
    ("offset", "cut"), [(0, 0), (100, 100), (101, 100), (199, 100), (200, 200), (250, 250), (301, 300)]
)
def test_a_log_is_cut_where_a_record_begins_though_parts_are_missing(offset: int, cut: int) -> None:
    missing = [Report(start, end, False, "", 0, 0) for start, end in ((100, 200), (300, 400))]
    assert last_whole(offset, missing) == cut
