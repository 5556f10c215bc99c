"""Iceberg tables with fewer files hold the same rows, whoever is killed and whoever writes meanwhile."""

import pytest
from lake_log import Log, Written, iceberg_rows
from mqframe_spark.lake.upkeep import Crowd

pytest.importorskip("pyiceberg")

import pyarrow.parquet as pq
from mqframe_spark.lake.iceberg_catalog import IcebergFailed, IcebergPlace
from mqframe_spark.lake.iceberg_upkeep import IcebergUpkeep
from pyiceberg.catalog.sql import SqlCatalog

DAYS = "2023-11-14", "2023-11-15", "2023-11-16"
WANTED = {"orders": [*range(20)]}


@pytest.fixture
def crowded(tmp_path, store) -> Log:
    """Ten messages a day of one topic, each in a file of its own."""
    log = Log(store)
    for n in range(20):
        log.add("orders", day=n // 10)
    Written(tmp_path, log, format="iceberg", roll_rows=1).take(0, 20)
    return log


def upkeep(root, target_bytes=1 << 30):
    return IcebergUpkeep(IcebergPlace(root / "iceberg", {}, "mqframe"), target_bytes, "zstd")


def files(root) -> int:
    table = IcebergPlace(root / "iceberg", {}, "mqframe").load("orders")
    return len([*table.scan().plan_files()])


def test_rows_keep_the_order_of_the_log_and_columns_their_ids(tmp_path, crowded) -> None:
    for crowd in upkeep(tmp_path).crowds(DAYS[2], 2):
        upkeep(tmp_path).merge(crowd)
    table = IcebergPlace(tmp_path / "iceberg", {}, "mqframe").load("orders")
    rows = table.scan(row_filter=f"day = '{DAYS[0]}'").to_arrow()
    assert rows.column("queue_offset").to_pylist() == [*range(10)]
    assert rows.column("queue_id").to_pylist() == [*range(10)]
    [made] = [task.file for task in table.scan(row_filter=f"day = '{DAYS[0]}'").plan_files()]
    assert made.record_count == 10
    schema = pq.read_schema(made.file_path.removeprefix("file://"))
    for field in table.schema().fields:
        assert schema.field(field.name).metadata[b"PARQUET:field_id"] == str(field.field_id).encode()
    assert table.current_snapshot().summary["mqframe.merged-files"] == "10"
    # Who reads what was appended passes over it.
    appended = table.incremental_append_scan(from_snapshot_id_exclusive=table.snapshots()[19].snapshot_id)
    assert [*appended.plan_files()] == []


@pytest.mark.parametrize("committed", [False, True])
def test_whenever_it_is_killed_readers_find_each_message_once(
    tmp_path, crowded, monkeypatch, committed
) -> None:
    class Died(BaseException):
        pass

    commit = SqlCatalog.commit_table

    def dying(*arguments):
        if committed:
            commit(*arguments)
        raise Died

    with monkeypatch.context() as broken:
        broken.setattr(SqlCatalog, "commit_table", dying)
        with pytest.raises(Died):
            upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0))
    assert iceberg_rows(tmp_path) == WANTED
    assert files(tmp_path) == (11 if committed else 20)
    assert upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0)) == (0 if committed else 9)
    assert iceberg_rows(tmp_path) == WANTED


def test_a_day_that_is_deleted_meanwhile_does_not_come_back(tmp_path, crowded, monkeypatch) -> None:
    commit, once = SqlCatalog.commit_table, [1]

    def overtaken(*arguments):
        if once:
            once.pop()
            IcebergPlace(tmp_path / "iceberg", {}, "mqframe").load("orders").delete(f"day = '{DAYS[0]}'")
        return commit(*arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", overtaken)
    with pytest.raises(IcebergFailed, match="orders"):
        upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0))
    assert iceberg_rows(tmp_path) == {"orders": [*range(10, 20)]}


def test_every_table_is_vacuumed(tmp_path, crowded) -> None:
    upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0))
    assert upkeep(tmp_path).vacuum(1, dry_run=False) == []
    # As if an hour had passed.
    told = upkeep(tmp_path).vacuum(-1, dry_run=True)
    assert len([place for place in told if place.endswith(".parquet")]) == 10
    assert files(tmp_path) == 11
    assert {*told} <= {*upkeep(tmp_path).vacuum(-1, dry_run=False)}
    assert iceberg_rows(tmp_path) == WANTED
