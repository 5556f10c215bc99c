import pytest
from mqframe_spark.records.schema import spark_schema
from mqframe_spark.source.batch import BatchReader
from mqframe_spark.source.options import SourceOptions, Store, parse_options

from mqframe.core.errors import SettingError


def test_a_stream_s_options_are_refused() -> None:
    options = parse_options({"nameserver": "n:1", "topic": "t", "maxOffsetsPerTrigger": "5"})
    with pytest.raises(SettingError, match="option maxOffsetsPerTrigger = '5': only streams have it"):
        BatchReader(options, spark_schema())


def test_another_schema_is_refused() -> None:
    with pytest.raises(SettingError, match="is not that of a topic"):
        BatchReader(SourceOptions("n:1", topics=("t",)), spark_schema(["body"]))


def test_what_a_store_holds_is_planned_and_read_queue_by_queue(store) -> None:
    for number in range(6):
        store.add("t", number % 2)
    store.add("another")
    options = SourceOptions(path=(Store("a", store.folder),), topics=("t",))
    reader = BatchReader(options, spark_schema())
    parts = reader.partitions()
    assert [repr(part) for part in parts] == ["QueueSpan(t, a/0, 0..3)", "QueueSpan(t, a/1, 0..3)"]
    for part in parts:
        batches = list(reader.read(part))
        assert [offset for batch in batches for offset in batch.column("queue_offset").to_pylist()] == [
            0,
            1,
            2,
        ]
        assert {batch.schema.names == spark_schema().names for batch in batches} == {True}
