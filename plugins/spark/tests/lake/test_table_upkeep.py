"""Tables with fewer files hold the same rows, whoever writes meanwhile: of both formats."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from lake_log import Log, Written, delta_rows, iceberg_rows
from mqframe_spark.lake.upkeep import Crowd, Upkeep

from mqframe.core.errors import RetryError

DAYS = "2023-11-14", "2023-11-15", "2023-11-16"
WANTED = {"orders": [*range(20)]}
LARGE = 1 << 30


class Tables(NamedTuple):
    """`upkeep`: of files of about so many bytes; `files`: how many the table of orders has."""

    format: str
    upkeep: Callable[[int], Upkeep]
    files: Callable[[], int]
    rows: Callable[[], dict[str, list[int]]]

    def written(self, root: Path, log: Log) -> Written:
        return Written(root, log, format=self.format, roll_rows=1)


def delta(root: Path) -> Tables:
    deltalake = pytest.importorskip("deltalake")
    from mqframe_spark.lake.delta_upkeep import DeltaUpkeep

    return Tables(
        "delta",
        lambda size: DeltaUpkeep(root / "delta", size, "zstd"),
        lambda: len(deltalake.DeltaTable(root / "delta/orders").file_uris()),
        lambda: delta_rows(root),
    )


def iceberg(root: Path) -> Tables:
    pytest.importorskip("pyiceberg")
    from mqframe_spark.lake.iceberg_catalog import IcebergPlace
    from mqframe_spark.lake.iceberg_upkeep import IcebergUpkeep

    def place() -> IcebergPlace:
        return IcebergPlace(root / "iceberg", {}, "mqframe")

    return Tables(
        "iceberg",
        lambda size: IcebergUpkeep(place(), size, "zstd"),
        lambda: len([*place().load("orders").scan().plan_files()]),
        lambda: iceberg_rows(root),
    )


@pytest.fixture(params=[delta, iceberg])
def tables(request, tmp_path) -> Tables:
    return request.param(tmp_path)


@pytest.fixture
def crowded(tmp_path, store, tables) -> Log:
    """Ten messages a day of one topic, each in a file of its own."""
    log = Log(store)
    for n in range(20):
        log.add("orders", day=n // 10)
    tables.written(tmp_path, log).take(0, 20)
    return log


def test_crowds_are_told_by_day(crowded, tables) -> None:
    care = tables.upkeep(LARGE)
    found = care.crowds(DAYS[1], 11)
    assert [(each.topic, each.day, each.files) for each in found] == [("orders", DAYS[0], 10)]
    assert found[0].size_bytes > 10_000
    assert [each.day for each in care.crowds(DAYS[1], 10)] == [*DAYS[:2]]
    assert tables.upkeep(2_000).crowds(DAYS[2], 2) == []


def test_one_file_a_day_takes_the_place_of_all(tmp_path, crowded, tables) -> None:
    for crowd in tables.upkeep(LARGE).crowds(DAYS[2], 2):
        assert tables.upkeep(LARGE).merge(crowd) == 9
        assert tables.upkeep(LARGE).merge(crowd) == 0
    assert tables.files() == 2
    assert tables.rows() == WANTED
    assert tables.upkeep(LARGE).crowds(DAYS[2], 2) == []
    # What is published is known, and what comes afterwards is taken in.
    crowded.add("orders", day=1)
    assert tables.written(tmp_path, crowded).take(0, 21) == crowded.ends[21]
    assert tables.rows() == {"orders": [*range(21)]}


def test_files_become_no_larger_than_is_aimed_at(crowded, tables) -> None:
    [first, _] = tables.upkeep(LARGE).crowds(DAYS[2], 2)
    fewer = tables.upkeep(first.size_bytes // 3).merge(first)
    assert 0 < fewer < 9
    assert tables.files() == 20 - fewer
    assert tables.rows() == WANTED


def test_a_dispatcher_goes_on_writing_meanwhile(tmp_path, store, tables) -> None:
    log = Log(store)
    for _ in range(20):
        log.add("orders")
    written = tables.written(tmp_path, log)
    written.take(0, 6)
    done = threading.Event()
    crowd = Crowd("orders", DAYS[0], 2, 0)
    merged, lost = [], []

    def merging() -> None:
        care = tables.upkeep(LARGE)
        while not done.is_set():
            try:
                merged.append(care.merge(crowd))
            except RetryError as problem:  # the dispatcher was quicker, again and again
                lost.append(problem)

    other = threading.Thread(target=merging)
    other.start()
    try:
        for n in range(6, 20):
            assert written.take(n, n + 1) == log.ends[n + 1]
            assert tables.rows() == {"orders": [*range(n + 1)]}
    finally:
        done.set()
        other.join()
    assert merged or lost, "nothing was tried meanwhile"
    merged.append(tables.upkeep(LARGE).merge(crowd))
    assert sum(merged) == 19
    assert tables.files() == 1
    assert tables.rows() == WANTED
