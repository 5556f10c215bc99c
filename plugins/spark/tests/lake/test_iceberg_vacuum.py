"""What goes of an Iceberg table, and what stays."""

import time
from pathlib import Path

import pytest
from lake_log import Log, Written, iceberg_rows

pytest.importorskip("pyiceberg")

from mqframe_spark.lake.iceberg_catalog import IcebergPlace
from mqframe_spark.lake.iceberg_upkeep import IcebergUpkeep
from mqframe_spark.lake.iceberg_vacuum import vacuum_table
from mqframe_spark.lake.upkeep import Crowd
from pyiceberg.catalog.sql import SqlCatalog

DAY = "2023-11-14"


@pytest.fixture
def crowded(tmp_path, store) -> Log:
    """Ten files of one day, and one more that holds the rows of all."""
    log = Log(store)
    for _ in range(12):
        log.add("orders")
    Written(tmp_path, log, format="iceberg", roll_rows=1).take(0, 10)
    IcebergUpkeep(place(tmp_path), 1 << 30, "zstd").merge(Crowd("orders", DAY, 10, 0))
    return log


def place(root: Path) -> IcebergPlace:
    return IcebergPlace(root / "iceberg", {}, "mqframe")


def orders(root: Path):
    return place(root).load("orders")


def there(root: Path) -> set[str]:
    return {f"file://{path}" for path in (root / "iceberg/orders").rglob("*") if path.is_file()}


def test_the_current_snapshot_keeps_all_it_needs_and_the_rest_goes(tmp_path, crowded) -> None:
    before, later = there(tmp_path), time.time() + 60
    told = vacuum_table(orders(tmp_path), later, dry_run=True)
    assert there(tmp_path) == before
    assert len(orders(tmp_path).snapshots()) == 11
    gone = vacuum_table(orders(tmp_path), later, dry_run=False)
    assert sorted(gone) == sorted(told)
    assert before - there(tmp_path) == {*gone}
    assert len([path for path in there(tmp_path) if path.endswith(".parquet")]) == 1
    assert len(orders(tmp_path).snapshots()) == 1
    assert iceberg_rows(tmp_path) == {"orders": [*range(10)]}
    assert vacuum_table(orders(tmp_path), later, dry_run=False) == []
    # The position outlives the snapshots that led to it.
    again = Written(tmp_path, crowded, format="iceberg", roll_rows=1)
    assert again.take(0, 12) == crowded.ends[12]
    assert iceberg_rows(tmp_path) == {"orders": [*range(12)]}


def test_what_is_younger_stays(tmp_path, crowded) -> None:
    before = there(tmp_path)
    assert vacuum_table(orders(tmp_path), time.time() - 3600, dry_run=False) == []
    assert there(tmp_path) == before
    assert len(orders(tmp_path).snapshots()) == 11


def test_tags_keep_their_snapshots_and_commits_never_done_leave_nothing(tmp_path, crowded) -> None:
    table = orders(tmp_path)
    tagged = table.snapshots()[4].snapshot_id
    table.manage_snapshots().create_tag(tagged, "audit").commit()
    stray = tmp_path / "iceberg/orders/data/day=2023-11-14/never-committed.parquet"
    stray.write_bytes(b"x")
    gone = vacuum_table(orders(tmp_path), time.time() + 60, dry_run=False)
    assert f"file://{stray}" in gone
    assert not stray.exists()
    assert orders(tmp_path).scan(snapshot_id=tagged).to_arrow().num_rows == 5
    assert iceberg_rows(tmp_path) == {"orders": [*range(10)]}


def test_whenever_it_is_killed_the_table_is_whole_and_the_next_one_ends_the_work(
    tmp_path, crowded, monkeypatch
) -> None:
    class Died(BaseException):
        pass

    later = time.time() + 60
    commit = SqlCatalog.commit_table

    def dying(*arguments):
        commit(*arguments)
        raise Died

    with monkeypatch.context() as broken:
        broken.setattr(SqlCatalog, "commit_table", dying)
        with pytest.raises(Died):
            vacuum_table(orders(tmp_path), later, dry_run=False)
    assert iceberg_rows(tmp_path) == {"orders": [*range(10)]}
    assert len(vacuum_table(orders(tmp_path), later, dry_run=False)) > 20
    assert iceberg_rows(tmp_path) == {"orders": [*range(10)]}
