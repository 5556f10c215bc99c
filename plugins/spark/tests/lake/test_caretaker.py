"""Upkeep takes its turns beside the dispatcher's work, and is no hindrance to it."""

from datetime import UTC, datetime

import pytest
from lake_log import Time
from mqframe_spark.lake.caretaker import LOOK_SECONDS, VACUUM_SECONDS, Caretaker
from mqframe_spark.lake.parquet_options import ParquetOptions
from mqframe_spark.lake.upkeep import Crowd, UpkeepBusy

TODAY = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Told:
    """An upkeep that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.there: list[Crowd] = []
        self.fewer: dict[str, list[int]] = {}
        self.problem: Exception | None = None

    def crowds(self, open_day: str, files_min: int) -> list[Crowd]:
        self.asked.append((open_day, files_min))
        return self.there

    def vacuum(self, hours: float, *, dry_run: bool) -> list[str]:
        assert not dry_run
        self.asked.append(hours)
        return []

    def merge(self, crowd: Crowd) -> int:
        self.asked.append(crowd.topic)
        if self.problem:
            raise self.problem
        return self.fewer[crowd.topic].pop(0)


def caretaker(upkeep: Told, clock: Time, **options) -> Caretaker:
    return Caretaker(upkeep, ParquetOptions(**{"vacuum_hours": 0, **options}), clock, lambda: TODAY)


def steps(care: Caretaker, count: int) -> None:
    for _ in range(count):
        care.step()


def test_one_merge_at_a_time_until_there_is_no_more_to_do() -> None:
    upkeep, clock = Told(), Time()
    upkeep.there = [Crowd("a", "2026-11-20", 5, 1), Crowd("b", "2026-11-20", 5, 1)]
    upkeep.fewer = {"a": [3, 1, 0], "b": [4, 0]}
    care = caretaker(upkeep, clock, compact_files=60)
    steps(care, 3)
    assert upkeep.asked == []
    clock.now = LOOK_SECONDS
    care.step()
    assert upkeep.asked == [("2026-11-21", 60)]
    steps(care, 9)
    assert upkeep.asked[1:] == ["a", "b", "a", "b", "a"]
    clock.now += LOOK_SECONDS
    upkeep.there = []
    steps(care, 2)
    assert upkeep.asked[6:] == [("2026-11-21", 60)]


def test_old_files_are_removed_once_a_day() -> None:
    upkeep, clock = Told(), Time()
    care = caretaker(upkeep, clock, vacuum_hours=24)
    care.step()
    assert upkeep.asked == []
    for clock.now in (LOOK_SECONDS, 2 * LOOK_SECONDS, VACUUM_SECONDS, LOOK_SECONDS + VACUUM_SECONDS):
        steps(care, 2)
    assert upkeep.asked == [24, 24]


def test_nothing_is_done_unasked() -> None:
    upkeep, clock = Told(), Time()
    care = caretaker(upkeep, clock)
    clock.now = 10 * LOOK_SECONDS
    steps(care, 3)
    assert upkeep.asked == []


@pytest.mark.parametrize("problem", [OSError(28, "No space left"), UpkeepBusy("another process")])
def test_what_fails_holds_nothing_up_and_is_tried_again(problem) -> None:
    upkeep, clock = Told(), Time()
    upkeep.there, upkeep.problem = [Crowd("a", "2026-11-20", 5, 1)], problem
    upkeep.fewer = {"a": [4, 0]}
    care = caretaker(upkeep, clock, compact_files=2)
    clock.now = LOOK_SECONDS
    steps(care, 5)
    assert upkeep.asked == [("2026-11-21", 2), "a"]
    upkeep.problem = None
    clock.now += LOOK_SECONDS
    steps(care, 5)
    assert upkeep.asked[2:] == [("2026-11-21", 2), "a", "a"]
