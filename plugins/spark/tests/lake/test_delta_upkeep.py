"""Delta tables with fewer files hold the same rows, whoever is killed and whoever writes meanwhile."""

import pytest
from lake_log import Log, Written, delta_rows
from mqframe_spark.lake.upkeep import Crowd

pytest.importorskip("deltalake")

import deltalake
import pyarrow as pa
from mqframe_spark.lake.delta_tables import DeltaFailed
from mqframe_spark.lake.delta_upkeep import DeltaUpkeep

DAYS = "2023-11-14", "2023-11-15", "2023-11-16"
WANTED = {"orders": [*range(20)]}


@pytest.fixture
def crowded(tmp_path, store) -> Log:
    """Ten messages a day of one topic, each in a file of its own."""
    log = Log(store)
    for n in range(20):
        log.add("orders", day=n // 10)
    Written(tmp_path, log, format="delta", roll_rows=1).take(0, 20)
    return log


def upkeep(root, target_bytes=1 << 30):
    return DeltaUpkeep(root / "delta", target_bytes, "zstd")


def test_a_commit_says_that_no_row_has_changed(tmp_path, crowded) -> None:
    upkeep(tmp_path).merge(Crowd("orders", DAYS[0], 10, 0))
    table = deltalake.DeltaTable(tmp_path / "delta/orders")
    assert table.history()[0]["operation"] == "OPTIMIZE"
    newest = max((tmp_path / "delta/orders/_delta_log").glob("*.json")).read_text()
    assert newest.count('"dataChange":false') == 11
    assert '"dataChange":true' not in newest


def test_tables_of_others_are_left_alone(tmp_path) -> None:
    deltalake.write_deltalake(tmp_path / "delta/mine", pa.table({"x": [1]}))
    deltalake.write_deltalake(tmp_path / "delta/mine", pa.table({"x": [2]}), mode="append")
    assert upkeep(tmp_path).crowds(DAYS[2], 2) == []


def test_a_broken_table_is_named(tmp_path, crowded) -> None:
    for path in (tmp_path / "delta/orders/_delta_log").glob("*.json"):
        path.write_text("{")
    with pytest.raises(DeltaFailed, match=r"the Delta table .*orders: "):
        upkeep(tmp_path).crowds(DAYS[2], 2)


def data(root) -> set[str]:
    return {str(path) for path in (root / "delta").glob("*/day=*/*.parquet")}


def test_files_that_no_version_needs_go_after_their_time(tmp_path, crowded) -> None:
    old = data(tmp_path)
    for crowd in upkeep(tmp_path).crowds(DAYS[2], 2):
        upkeep(tmp_path).merge(crowd)
    stray = tmp_path / "delta/orders/day=2023-11-14/never-committed.parquet"
    stray.write_bytes(b"x")
    old.add(str(stray))
    assert upkeep(tmp_path).vacuum(1, dry_run=False) == []
    assert upkeep(tmp_path).vacuum(0, dry_run=True) == sorted(old)
    assert old < data(tmp_path)
    assert upkeep(tmp_path).vacuum(0, dry_run=False) == sorted(old)
    assert len(data(tmp_path)) == 2
    assert delta_rows(tmp_path) == WANTED
    assert upkeep(tmp_path).vacuum(0, dry_run=True) == []
    again = Written(tmp_path, crowded, format="delta", roll_rows=1)
    assert again.take(0, 20) == crowded.ends[20]
    assert delta_rows(tmp_path) == WANTED
