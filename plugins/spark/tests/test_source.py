"""What Spark gets for `format("mqframe")`, without a session."""

import subprocess
import sys

import pytest
from mqframe_spark.records.schema import spark_schema
from mqframe_spark.sink.writers import BatchWriter, StreamWriter
from mqframe_spark.source.batch import BatchReader
from mqframe_spark.source.stream import StreamReader
from pyspark.sql import types as t
from pyspark_mqframe.source import DefaultSource

from mqframe.core.errors import SettingError

WHERE = {"nameserver": "127.0.0.1:1", "topic": "t"}
BODY = t.StructType([t.StructField("body", t.BinaryType())])

OLDER = """
import sys
import pyspark.sql.datasource
sys.modules["pyspark.sql.streaming.datasource"] = None      # as in PySpark 4.0 and 4.1
pyspark.__version__ = "4.1.0"
from pyspark_mqframe import DefaultSource
source = DefaultSource({"topic": "t", "nameserver": "127.0.0.1:1"})
schema = source.schema()
source.reader(schema)
try:
    source.streamReader(schema)
except ImportError as problem:
    assert "streams of mqframe need PySpark 4.2 or newer, and this is 4.1.0" in str(problem), problem
    assert "maxOffsetsPerTrigger" in str(problem)
else:
    raise AssertionError("not told")
"""


def test_it_has_the_name_that_users_write() -> None:
    assert DefaultSource.name() == "mqframe"


def test_options_of_one_side_are_refused_by_the_other() -> None:
    source = DefaultSource({**WHERE, "batchBytes": "2048"})
    with pytest.raises(SettingError, match="unknown option batchBytes = '2048'"):
        source.schema()
    source = DefaultSource({**WHERE, "tags": "a"})
    for writer in (source.writer, source.streamWriter):
        with pytest.raises(SettingError, match="unknown option tags = 'a'"):
            writer(BODY, overwrite=False)


def test_the_schema_is_that_of_the_wanted_columns() -> None:
    assert DefaultSource(dict(WHERE)).schema() == spark_schema()
    few = DefaultSource({**WHERE, "columns": "queue_offset, body"}).schema()
    assert few.simpleString() == "struct<queue_offset:bigint,body:binary>"


def test_a_store_is_read_as_a_batch_and_as_a_stream(store) -> None:
    for _ in range(3):
        store.add("t", 1)
    source = DefaultSource({"mode": "files", "path": str(store.folder), "topic": "t", "columns": "body"})
    batch, stream = source.reader(source.schema()), source.streamReader(source.schema())
    assert isinstance(batch, BatchReader)
    [part] = batch.partitions()
    assert [value.as_py() for rows in batch.read(part) for value in rows.column("body")] == [
        b"body 0", b"body 1", b"body 2",
    ]  # fmt: skip
    assert isinstance(stream, StreamReader)


def test_rows_are_written_as_messages(mqframe_shared_cluster) -> None:
    mqframe_shared_cluster.create_topic("written-to", 1)
    given = {"nameserver": mqframe_shared_cluster.nameserver, "topic": "written-to"}
    source = DefaultSource(given)
    assert type(source.writer(BODY, overwrite=False)) is BatchWriter
    assert type(source.streamWriter(BODY, overwrite=False)) is StreamWriter
    assert type(source.streamWriter(BODY, overwrite=True)) is StreamWriter
    with pytest.raises(SettingError, match="topics cannot be overwritten"):
        source.writer(BODY, overwrite=True)


def test_streams_need_a_newer_spark_than_batches() -> None:
    subprocess.run([sys.executable, "-c", OLDER], check=True, timeout=240)


def test_a_library_that_is_missing_is_not_taken_for_an_older_spark(monkeypatch) -> None:
    source = DefaultSource(dict(WHERE))
    monkeypatch.delitem(sys.modules, "mqframe_spark.source.stream")
    monkeypatch.setitem(sys.modules, "mqframe_spark.source.planning", None)
    with pytest.raises(ImportError, match=r"mqframe_spark\.source\.planning") as problem:
        source.streamReader(source.schema())
    assert "PySpark" not in str(problem.value)
