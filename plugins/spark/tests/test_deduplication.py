"""Doubles left out, by a real Spark, of rows that are written down here."""

from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.deduplication import drop_doubles, idempotence_key

from mqframe.core.errors import SettingError

ROWS = """
    select * from values
        ('id-1', map('IDEMPOTENCE_KEY', 'one'), 'a', timestamp'2026-01-01 10:00:00'),
        ('id-2', map('IDEMPOTENCE_KEY', 'two'), 'b', timestamp'2026-01-01 10:00:01'),
        ('id-3', map('IDEMPOTENCE_KEY', 'one'), 'a', timestamp'2026-01-01 10:30:00'),
        ('id-4', map('mine', 'one'), 'c', timestamp'2026-01-01 10:30:01'),
        ('id-5', map('mine', 'one'), 'c', timestamp'2026-01-01 10:30:02'),
        ('two', map(), 'b', timestamp'2026-01-01 10:30:03')
    as rows (msg_id, properties, text, store_timestamp)
"""
ONCE = ["a", "b", "c", "c"]


@pytest.fixture(scope="module")
def rows(spark) -> Any:
    return spark.sql(ROWS)


@pytest.fixture(scope="module")
def stream(spark, rows, tmp_path_factory) -> Any:
    """The same rows, one file of them."""
    folder = str(tmp_path_factory.mktemp("doubles") / "rows")
    rows.coalesce(1).write.parquet(folder)
    return spark.readStream.schema(rows.schema).parquet(folder)


def texts(frame: Any) -> list[str]:
    return sorted(row.text for row in frame.collect())


def test_the_key_is_the_property_or_else_the_id(rows) -> None:
    keys = [row.key for row in rows.select(idempotence_key().alias("key")).collect()]
    assert keys == ["one", "two", "one", "id-4", "id-5", "two"]


def test_one_row_of_each_key_stays_with_its_columns(rows) -> None:
    once = drop_doubles(rows)
    assert once.columns == rows.columns
    assert texts(once) == ONCE


def test_a_stream_remembers_keys_for_as_long_as_it_is_told(spark, stream, tmp_path: Path) -> None:
    once = drop_doubles(stream, within="1 hour")
    assert once.columns == stream.columns
    query = (
        once.writeStream.format("memory")
        .queryName("without_doubles")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(90)
    finally:
        query.stop()
    assert texts(spark.table("without_doubles")) == ONCE


@pytest.mark.parametrize("column", ["properties", "msg_id"])
def test_columns_that_are_needed_are_named(rows, stream, column) -> None:
    said = f"drop_doubles needs column {column}; have it read, and drop it afterwards"
    for frame in (rows, stream):
        with pytest.raises(SettingError, match=said):
            drop_doubles(frame.drop(column), within="1 hour")


def test_a_stream_needs_the_time_and_how_long_to_remember(rows, stream) -> None:
    with pytest.raises(SettingError, match='needs within, as in within="2 hours"'):
        drop_doubles(stream)
    with pytest.raises(SettingError, match="drop_doubles needs column store_timestamp"):
        drop_doubles(stream.drop("store_timestamp"), within="1 hour")
    assert texts(drop_doubles(rows.drop("store_timestamp"))) == ONCE
