"""The columns of a message, for Spark and for Arrow. Both must agree exactly, or Spark refuses the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from mqframe.core.errors import SettingError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

ARROW_SCHEMA: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("broker", pa.string()),
        ("queue_id", pa.int32()),
        ("queue_offset", pa.int64()),
        ("msg_id", pa.string()),
        ("tags", pa.string()),
        ("keys", pa.string()),
        ("properties", pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))),
        ("body", pa.binary()),
        ("born_timestamp", pa.timestamp("us", tz="UTC")),
        ("store_timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
"""All columns may be null for Arrow, as Spark declares those of a source."""


def spark_schema() -> StructType:
    """The same columns as a Spark type."""
    from pyspark.sql import types as t

    text = t.StringType()
    return t.StructType(
        [
            t.StructField("topic", text),
            t.StructField("broker", text),
            t.StructField("queue_id", t.IntegerType()),
            t.StructField("queue_offset", t.LongType()),
            t.StructField("msg_id", text),
            t.StructField("tags", text),
            t.StructField("keys", text),
            t.StructField("properties", t.MapType(text, text, valueContainsNull=False)),
            t.StructField("body", t.BinaryType()),
            t.StructField("born_timestamp", t.TimestampType()),
            t.StructField("store_timestamp", t.TimestampType()),
        ]
    )


def check_schema(wanted: StructType) -> None:
    """Raise `SettingError` when a reader is asked for other columns than these."""
    if wanted != spark_schema():
        raise SettingError(
            f"schema {wanted.simpleString()} is not that of a topic; leave .schema(...) out and select what "
            f"you need of {spark_schema().simpleString()}"
        )
