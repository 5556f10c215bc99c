"""What a broker tells its group of its disk."""

from __future__ import annotations

import attrs
from mqframe_election.broker.disk_watch import DiskWatch
from mqframe_election.rules.ability import PROVEN_SECONDS
from mqframe_testing.manual_clock import ManualClock


@attrs.define
class Disk:
    refusal: str = ""
    waiting_seconds: float = 0.0
    has_room: bool = True


async def test_the_group_is_told_when_the_disk_is_full_and_when_it_was_well_for_a_while() -> None:
    clock, disk, told = ManualClock(), Disk(), list[str]()
    watch = DiskWatch(clock, 5, lambda: disk, lambda: told.append(watch.why))
    watch.start()
    await clock.aadvance(2)
    assert told == []
    disk.refusal, disk.has_room = "the disk is full", False
    await clock.aadvance(0.5)
    assert (watch.now, watch.has_room) == ("the disk is full", False)
    disk.refusal, disk.has_room = "", True
    await clock.aadvance(PROVEN_SECONDS)
    assert told == ["the disk is full"]
    assert (watch.now, watch.has_room) == ("", True)
    await clock.aadvance(1)
    assert told == ["the disk is full", ""]
    watch.stop()
    disk.refusal = "the disk is full"
    await clock.aadvance(5)
    assert watch.why == ""


def test_that_a_disk_is_well_again_is_told_as_loud_as_that_it_was_full(caplog) -> None:
    clock = ManualClock()
    watch = DiskWatch(clock, 5, lambda: None, lambda: None)
    watch.note("the disk is full")
    while watch.why:
        clock.advance(1)
        watch.note("")
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


async def test_a_disk_that_owes_an_answer_for_too_long_is_told() -> None:
    clock, disk = ManualClock(), Disk(waiting_seconds=4.9)
    watch = DiskWatch(clock, 5, lambda: disk, lambda: None)
    watch.start()
    await clock.aadvance(1)
    assert watch.why == ""
    disk.waiting_seconds = 5.4
    await clock.aadvance(0.5)
    assert "has not answered" in watch.why
    watch.stop()


async def test_a_store_that_cannot_be_opened_is_told_and_is_not_forgotten_while_there_is_none() -> None:
    clock = ManualClock()
    watch = DiskWatch(clock, 5, lambda: None, lambda: None)
    watch.note("the store cannot be opened")
    watch.start()
    await clock.aadvance(2 * PROVEN_SECONDS)
    assert watch.why == "the store cannot be opened"
    watch.stop()
