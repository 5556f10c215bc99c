"""The columns of a frame to write."""

import pytest
from mqframe_spark.records.schema import spark_schema
from mqframe_spark.sink.frame_columns import FROM_BROKERS, check_columns
from mqframe_spark.sink.options import SinkOptions
from pyspark.sql import types as t

from mqframe.core.errors import SettingError

TYPES: dict[str, t.DataType] = {
    "binary": t.BinaryType(), "string": t.StringType(), "varchar(20)": t.VarcharType(20),
    "int": t.IntegerType(),
    "bigint": t.LongType(), "double": t.DoubleType(), "decimal(9;2)": t.DecimalType(9, 2),
    "boolean": t.BooleanType(), "timestamp": t.TimestampType(), "timestamp_ntz": t.TimestampNTZType(),
    "array<string>": t.ArrayType(t.StringType()), "array<int>": t.ArrayType(t.IntegerType()),
    "map<string;string>": t.MapType(t.StringType(), t.StringType()),
    "map<string;int>": t.MapType(t.StringType(), t.IntegerType()),
}  # fmt: skip
"""DDL without a session, which alone could parse it."""


def columns(text: str, **options: object) -> None:
    pairs = [part.split() for part in text.split(", ")]
    schema = t.StructType([t.StructField(name, TYPES[kind]) for name, kind in pairs])
    check_columns(schema, SinkOptions("ns:1", **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "body binary, topic string",
        "value string, topic varchar(20)",
        "body binary, topic string, tags string, keys array<string>, properties map<string;string>, "
        "sharding_key string, delay_seconds double, flag int, idempotence_key string",
        "body binary, topic string, keys string, sharding_key bigint, delay_seconds decimal(9;2)",
        "body binary, topic string, sharding_key boolean, delay_level int, deliver_at timestamp",
    ],
)
def test_frames_that_can_be_written(text: str) -> None:
    columns(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topic string", "column body is missing"),
        ("topic string, body binary, value binary", "column body and value are both there"),
        ("body binary", "option topic is missing, and there is no column topic"),
        ("body int, topic string", "column body is integer; it must be string or"),
        ("body binary, topic int", "column topic is integer"),
        (
            "body binary, topic string, price double",
            "column price is unknown; a frame to write may have body",
        ),
        ("body binary, topic string, Tags string", "column Tags is unknown; did you mean tags? A frame"),
        (
            "body binary, topic string, key binary",
            "column key is unknown; did you mean keys, by which people look for "
            "messages, or sharding_key, which chooses the queue? A frame to write may have body",
        ),
        (
            "body binary, topic string, headers map<string;string>",
            "column headers is unknown; did you mean properties,",
        ),
        ("body binary, topic string, tag string", "column tag is unknown; did you mean tags? A frame"),
        ("body binary, topic string, keys array<int>", "column keys is array<integer>; it must be"),
        ("body binary, topic string, properties map<string;int>", "column properties is map<string,integer>"),
        ("body binary, topic string, deliver_at timestamp_ntz", "column deliver_at is timestamp_ntz"),
        ("body binary, topic string, deliver_at bigint", "column deliver_at is"),
        ("body binary, topic string, sharding_key double", "column sharding_key is double"),
        ("body binary, topic string, topic string", "column topic is there twice"),
        ("body binary, topic string, queue_id int", "column queue_id is the broker's to set; drop it, or"),
    ],
)
def test_bad_columns_are_named(text: str, message: str) -> None:
    with pytest.raises(SettingError) as raised:
        columns(text)
    assert message in str(raised.value)


def test_contradictions() -> None:
    with pytest.raises(SettingError, match="option topic = 'a' and a column topic contradict each other"):
        columns("body binary, topic string", topic="a")
    columns("body binary, topic string", topic="a", ignore_columns=True)
    with pytest.raises(SettingError, match="column deliver_at and option exactlyOnce"):
        columns("body binary, deliver_at timestamp", topic="a", exactly_once=True)


def test_a_topic_that_was_read_is_written_when_told_what_counts() -> None:
    with pytest.raises(SettingError, match="column broker is the broker's to set"):
        check_columns(spark_schema(), SinkOptions("ns:1"))
    check_columns(spark_schema(), SinkOptions("ns:1", topic="copy", ignore_columns=True))
    assert set(FROM_BROKERS) == {
        "broker", "queue_id", "queue_offset", "commitlog_offset", "msg_id", "unique_key", "sys_flag",
        "born_timestamp", "store_timestamp", "born_host", "store_host", "reconsume_times",
    }  # fmt: skip
