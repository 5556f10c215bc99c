"""The dispatcher with `format = "iceberg"`: read by pyiceberg's own reader."""

import datetime

import pytest
from lake_log import DAY, Log, Written, iceberg_rows
from mqframe_spark.lake.dispatcher import ParquetDispatcher
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.parquet_options import ParquetOptions

from mqframe.core.errors import SettingError

pytest.importorskip("pyiceberg")

import pyarrow as pa
from mqframe_spark.lake.iceberg_catalog import IcebergFailed, open_catalog
from mqframe_spark.records.schema import ARROW_SCHEMA
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.types import LongType

ALL = {"orders": [0, 4, 8], "refunds": [1, 5, 9]}


class Iceberg(Written):
    """A writer of Iceberg tables below root/iceberg."""

    def __init__(self, root, log, *arguments, **options) -> None:
        super().__init__(root, log, *arguments, format="iceberg", **options)


def table(root, topic="orders"):
    return open_catalog(root / "iceberg", {}).load_table(("mqframe", topic))


def test_a_table_for_each_topic_partitioned_by_day_with_all_columns(tmp_path, log) -> None:
    written = Iceberg(tmp_path, log)
    assert written.take(0, 12) == 0
    assert iceberg_rows(tmp_path) == {}
    assert written.finish() == log.ends[12]
    assert iceberg_rows(tmp_path) == ALL
    orders = table(tmp_path)
    days = {datetime.date(2023, 11, 14), datetime.date(2023, 11, 15)}
    assert {part["partition"]["day"] for part in orders.inspect.partitions().to_pylist()} == days
    assert orders.location() == f"file://{tmp_path}/iceberg/orders"
    read = orders.scan().to_arrow()
    assert read.schema.names == [*ARROW_SCHEMA.names, "day"]
    assert [read.schema.field(name).type for name in ("queue_id", "commitlog_offset", "body")] == [
        pa.int32(), pa.int64(), pa.binary(),
    ]  # fmt: skip
    assert read.schema.field("store_timestamp").type == pa.timestamp("us", tz="UTC")
    rows = read.sort_by("queue_offset").to_pylist()
    assert [str(row["day"]) for row in rows] == ["2023-11-14", "2023-11-14", "2023-11-15"]
    assert rows[1]["body"] == b"body 0"
    assert rows[1]["commitlog_offset"] == log.ends[4]
    assert dict(rows[1]["properties"])["TAGS"] == "a"
    assert rows[1]["store_timestamp"].timestamp() * 1000 == 1_700_000_000_004
    # One commit for both days; it says how far it goes, and so does the table.
    [snapshot] = orders.snapshots()
    assert snapshot.summary["mqframe.end"] == str(log.ends[9])
    store = (tmp_path / "parquet-dispatcher.id").read_text().strip()
    assert orders.properties[f"mqframe.end.broker-a-{store}"] == str(log.ends[9])


def test_rows_of_a_day_keep_the_order_of_the_log(tmp_path, store) -> None:
    log = Log(store)
    for day in (0, 1, 0, 1, 1, 0):
        log.add("orders", day)
    written = Iceberg(tmp_path, log, roll_rows=6)
    assert written.take(0, 6) == log.ends[6]
    for day, wanted in (("2023-11-14", [0, 2, 5]), ("2023-11-15", [1, 3, 4])):
        rows = table(tmp_path).scan(row_filter=f"day = '{day}'").to_arrow()
        assert rows.column("queue_offset").to_pylist() == wanted
    assert written.writer._landing.end(Slot("orders", "")) == log.ends[6]


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("done", range(1, 8))
def test_a_crash_around_a_commit_leaves_neither_gap_nor_repetition(
    tmp_path, log, monkeypatch, done, committed
) -> None:
    class Died(BaseException):
        pass

    commit, count = SqlCatalog.commit_table, 0

    def dying(*arguments, **options):
        nonlocal count
        count += 1
        if count < done or committed:
            made = commit(*arguments, **options)
        if count >= done:
            raise Died
        return made

    written = Iceberg(tmp_path, log, roll_rows=1)
    with monkeypatch.context() as broken:
        broken.setattr(SqlCatalog, "commit_table", dying)
        with pytest.raises(Died):
            written.take(0, 12)
    assert Iceberg(tmp_path, log, roll_rows=1).take(0, 12) == log.ends[12]
    assert iceberg_rows(tmp_path) == ALL


@pytest.mark.parametrize("committed", [False, True])
def test_a_commit_that_failed_is_looked_up_before_it_is_tried_again(
    tmp_path, log, monkeypatch, committed
) -> None:
    commit = SqlCatalog.commit_table

    def failing(catalog, table, requirements, updates):
        makes = not any(update.action == "add-snapshot" for update in updates)
        if makes or committed:
            made = commit(catalog, table, requirements, updates)
        if makes:
            return made
        raise OSError(5, "connection lost")

    written = Iceberg(tmp_path, log)
    written.take(0, 5)
    with monkeypatch.context() as broken:
        broken.setattr(SqlCatalog, "commit_table", failing)
        with pytest.raises(IcebergFailed, match=r"the Iceberg table orders: OSError: .*connection lost"):
            written.finish()
    written.take(5, 12)
    written.finish()
    assert iceberg_rows(tmp_path) == ALL


def test_several_stores_feed_one_table_even_at_the_same_moment(tmp_path, log, monkeypatch) -> None:
    one, two = (
        Iceberg(tmp_path / name, log, path=tmp_path / "iceberg", topics=("orders",))
        for name in ("one", "two")
    )
    one.take(0, 4)
    two.take(0, 12)
    one.finish()
    commit, once = SqlCatalog.commit_table, [one]

    def overtaken(*arguments):
        if once:
            other = once.pop()
            other.take(4, 12)
            other.finish()
        return commit(*arguments)

    monkeypatch.setattr(SqlCatalog, "commit_table", overtaken)
    two.finish()
    assert iceberg_rows(tmp_path) == {"orders": [0, 0, 4, 4, 8, 8]}
    assert len([name for name in table(tmp_path).properties if name.startswith("mqframe.end.")]) == 2


def test_days_that_are_over_are_deleted(tmp_path, log) -> None:
    now = [1_700_000_000_000]
    written = Iceberg(tmp_path, log, now_ms=lambda: now[0], retention_days=1, roll_rows=1)
    written.take(0, 6)
    now[0] += 2 * DAY
    written.take(6, 12)
    assert iceberg_rows(tmp_path) == {"orders": [8], "refunds": [9]}
    Iceberg(tmp_path, log, now_ms=lambda: now[0], retention_days=1, roll_rows=1).take(0, 12)
    assert iceberg_rows(tmp_path) == {"orders": [8], "refunds": [9]}


def test_a_column_that_the_user_added_is_left_null(tmp_path, log) -> None:
    written = Iceberg(tmp_path, log, topics=("orders",))
    written.take(0, 4)
    written.finish()
    with table(tmp_path).update_schema() as change:
        change.add_column("mine", LongType())
    written.take(4, 12)
    written.finish()
    rows = table(tmp_path).scan().to_arrow().select(["queue_offset", "mine"]).to_pylist()
    assert sorted((row["queue_offset"], row["mine"]) for row in rows) == [(0, None), (4, None), (8, None)]


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "none"])
def test_files_are_compressed_as_told(tmp_path, log, codec) -> None:
    import pyarrow.parquet as pq

    written = Iceberg(tmp_path, log, compression=codec)
    written.take(0, 12)
    written.finish()
    [path, *_] = tmp_path.glob("iceberg/orders/data/*/*.parquet")
    told = {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == told


def test_any_catalog_that_pyiceberg_knows_can_be_named(tmp_path, log) -> None:
    catalog = {
        "name": "prod",
        "type": "sql",
        "uri": f"sqlite:///{tmp_path}/prod.db",
        "warehouse": f"file://{tmp_path}/w",
    }
    written = Iceberg(tmp_path, log, catalog=catalog, namespace="raw")
    written.take(0, 12)
    written.finish()
    found = open_catalog(tmp_path, catalog)
    assert found.name == "prod"
    assert sorted(found.list_tables("raw")) == [("raw", "orders"), ("raw", "refunds")]
    orders = found.load_table(("raw", "orders"))
    assert orders.location().startswith(f"file://{tmp_path}/w/")
    assert orders.scan().count() == 3
    assert not (tmp_path / "iceberg").exists()


def test_options_that_cannot_work_stop_the_start(tmp_path, log) -> None:
    with pytest.raises(SettingError, match=r"size_bytes_max = 5 is not for format = 'iceberg'"):
        ParquetDispatcher(ParquetOptions(format="iceberg", size_bytes_max=5))
    with pytest.raises(SettingError, match=r"catalog is for format = 'iceberg' without path"):
        ParquetDispatcher(ParquetOptions(format="iceberg", path=tmp_path, catalog={"uri": "x"}))
    with pytest.raises(SettingError, match=r"catalog is for format = 'iceberg'"):
        ParquetDispatcher(ParquetOptions(catalog={"uri": "x"}))
    with pytest.raises(SettingError, match=r"namespace = 'a\.\.b': must be a name"):
        ParquetOptions(format="iceberg", namespace="a..b")
    with pytest.raises(IcebergFailed, match="the Iceberg catalog nowhere: "):
        Iceberg(tmp_path, log, catalog={"name": "nowhere", "type": "sql"})


def test_a_conflict_that_does_not_end_is_told(tmp_path, log, monkeypatch) -> None:
    written = Iceberg(tmp_path, log)
    written.take(0, 12)

    def always(*arguments):
        raise CommitFailedException("Table has been updated by another process")

    with monkeypatch.context() as broken:
        broken.setattr(SqlCatalog, "commit_table", always)
        with pytest.raises(IcebergFailed, match="orders"):
            written.finish()
    written.finish()
    assert iceberg_rows(tmp_path) == ALL
