"""The dispatcher with `format = "delta"`: read by deltalake's own reader."""

import itertools
import json
import sys

import pytest
from lake_log import DAY, Log, Written
from mqframe_spark.lake.dispatcher import ParquetDispatcher
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.parquet_options import ParquetOptions

from mqframe import PluginManager
from mqframe.core.errors import SettingError

deltalake = pytest.importorskip("deltalake")

from mqframe_spark.lake import delta_tables  # noqa: E402 - needs deltalake

ALL = {"orders": [0, 4, 8], "refunds": [1, 5, 9]}


class Delta(Written):
    """A writer of Delta tables below root/delta."""

    def __init__(self, root, log, *arguments, **options) -> None:
        super().__init__(root, log, *arguments, format="delta", **options)


def tables(root) -> dict[str, list[int]]:
    """Queue offsets by topic."""
    found = {}
    for path in sorted((root / "delta").glob("*")):
        rows = deltalake.DeltaTable(path).to_pyarrow_table(columns=["queue_offset"])
        found[path.name] = sorted(rows.column(0).to_pylist())
    return found


def test_a_table_for_each_topic_partitioned_by_day_with_all_columns(tmp_path, log) -> None:
    written = Delta(tmp_path, log)
    assert written.take(0, 12) == 0
    assert not (tmp_path / "delta").exists()
    assert written.finish() == log.ends[12]
    assert tables(tmp_path) == ALL
    table = deltalake.DeltaTable(tmp_path / "delta/orders")
    assert table.metadata().partition_columns == ["day"]
    assert sorted(str(each["day"]) for each in table.partitions()) == ["2023-11-14", "2023-11-15"]
    rows = table.to_pyarrow_table().sort_by("queue_offset").to_pylist()
    assert [str(row["day"]) for row in rows] == ["2023-11-14", "2023-11-14", "2023-11-15"]
    assert rows[1]["body"] == b"body 0"
    assert rows[1]["commitlog_offset"] == log.ends[4]
    assert dict(rows[1]["properties"])["TAGS"] == "a"
    assert rows[1]["store_timestamp"].timestamp() * 1000 == 1_700_000_000_004
    # One commit for both days; it says how far it goes.
    assert table.version() == 0
    assert table.transaction_version(f"mqframe-broker-a-{_store(tmp_path)}") == log.ends[9]
    assert table.history()[0]["mqframe.end"] == str(log.ends[9])


def _store(root) -> str:
    return (root / "parquet-dispatcher.id").read_text().strip()


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("done", range(3))
def test_a_crash_around_a_commit_leaves_neither_gap_nor_repetition(
    tmp_path, log, monkeypatch, done, committed
) -> None:
    class Died(BaseException):
        pass

    count = 0

    def dying(*arguments, **options):
        nonlocal count
        count += 1
        if count <= done or committed:
            deltalake.write_deltalake(*arguments, **options)
        if count > done:
            raise Died

    written = Delta(tmp_path, log, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr(delta_tables, "write_deltalake", dying)
        with pytest.raises(Died):
            written.take(0, 12)
    assert Delta(tmp_path, log, roll_rows=1).take(0, 12) == log.ends[12]
    assert tables(tmp_path) == ALL


@pytest.mark.parametrize("committed", [False, True])
def test_a_commit_that_failed_is_looked_up_before_it_is_tried_again(
    tmp_path, log, monkeypatch, committed
) -> None:
    def failing(*arguments, **options):
        if committed:
            deltalake.write_deltalake(*arguments, **options)
        raise deltalake.exceptions.DeltaError("no checkpoint could be made")

    written = Delta(tmp_path, log)
    written.take(0, 5)
    with monkeypatch.context() as broken:
        broken.setattr(delta_tables, "write_deltalake", failing)
        with pytest.raises(delta_tables.DeltaFailed, match="no checkpoint"):
            written.finish()
    written.take(5, 12)
    written.finish()
    assert tables(tmp_path) == ALL


def test_several_stores_feed_one_table(tmp_path, log) -> None:
    for name in ("one", "two"):
        written = Delta(tmp_path / name, log, path=tmp_path / "delta", topics=("orders",))
        written.take(0, 12)
        written.finish()
    assert tables(tmp_path) == {"orders": [0, 0, 4, 4, 8, 8]}


def test_days_that_are_over_are_deleted(tmp_path, log) -> None:
    now = [1_700_000_000_000]
    written = Delta(tmp_path, log, now_ms=lambda: now[0], retention_days=1, roll_rows=1)
    written.take(0, 6)
    now[0] += 2 * DAY
    written.take(6, 12)
    assert tables(tmp_path) == {"orders": [8], "refunds": [9]}
    Delta(tmp_path, log, now_ms=lambda: now[0], retention_days=1, roll_rows=1).take(0, 12)
    assert tables(tmp_path) == {"orders": [8], "refunds": [9]}


def test_days_that_alternate_keep_the_order_of_the_log(tmp_path, store) -> None:
    log = Log(store)
    for day in (0, 1, 0, 1, 1, 0):
        log.add("orders", day)
    written = Delta(tmp_path, log, roll_rows=2)
    assert written.take(0, 6) == log.ends[6]
    table = deltalake.DeltaTable(tmp_path / "delta/orders")
    told = [json.loads(path.read_text().splitlines()[-1]) for path in _commits(tmp_path)]
    assert table.version() == 2
    assert len(told) == 3
    assert tables(tmp_path) == {"orders": [0, 1, 2, 3, 4, 5]}
    assert written.writer._landing.end(Slot("orders", "")) == log.ends[6]


def _commits(root):
    return sorted((root / "delta/orders/_delta_log").glob("*.json"))


def test_options_that_cannot_work_stop_the_start(tmp_path, monkeypatch) -> None:
    with pytest.raises(SettingError, match=r"size_bytes_max = 5 is not for format = 'delta'"):
        ParquetDispatcher(ParquetOptions(format="delta", size_bytes_max=5))
    with pytest.raises(SettingError, match=r"format of plugin parquet = 'hudi': must be one of"):
        PluginManager().create("dispatcher", "parquet", {"format": "hudi"})
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match=r"path = .*file/lake: .*file is no folder"):
        ParquetDispatcher(ParquetOptions(path=tmp_path / "file" / "lake"))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(SettingError, match=r'pip install "mqframe-plugin-spark\[delta\]"'):
        ParquetDispatcher(ParquetOptions(format="delta"))


@pytest.mark.parametrize(("first", "then"), [*itertools.permutations(("parquet", "delta", "iceberg"), 2)])
def test_a_folder_holds_one_format(tmp_path, log, first, then) -> None:
    pytest.importorskip("pyiceberg")
    written = Written(tmp_path, log, path=tmp_path / "lake", format=first)
    written.take(0, 12)
    written.finish()
    Written(tmp_path, log, path=tmp_path / "lake", format=first)
    with pytest.raises(SettingError, match="choose another folder"):
        ParquetDispatcher(ParquetOptions(path=tmp_path / "lake", format=then))
