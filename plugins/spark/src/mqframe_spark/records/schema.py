"""The columns of a message, for Spark and for Arrow. Both must agree exactly, or Spark refuses the batch."""

from __future__ import annotations

from collections.abc import Sequence
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
        ("commitlog_offset", pa.int64()),
        ("msg_id", pa.string()),
        ("unique_key", pa.string()),
        ("tags", pa.string()),
        ("keys", pa.string()),
        ("properties", pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))),
        ("body", pa.binary()),
        ("flag", pa.int32()),
        ("sys_flag", pa.int32()),
        ("born_timestamp", pa.timestamp("us", tz="UTC")),
        ("store_timestamp", pa.timestamp("us", tz="UTC")),
        ("born_host", pa.string()),
        ("store_host", pa.string()),
        ("reconsume_times", pa.int32()),
    ]
)
"""All columns may be null for Arrow, as Spark declares those of a source."""


_SPARK_TYPES: Final = {
    pa.string(): "StringType",
    pa.int32(): "IntegerType",
    pa.int64(): "LongType",
    pa.binary(): "BinaryType",
    pa.timestamp("us", tz="UTC"): "TimestampType",
}


def spark_schema(columns: Sequence[str] = ARROW_SCHEMA.names) -> StructType:
    """`columns` as a Spark type."""
    from pyspark.sql import types as t

    fields = []
    for name in columns:
        kind = ARROW_SCHEMA.field(name).type
        if pa.types.is_map(kind):
            made: t.DataType = t.MapType(t.StringType(), t.StringType(), valueContainsNull=False)
        else:
            made = getattr(t, _SPARK_TYPES[kind])()
        fields.append(t.StructField(name, made))
    return t.StructType(fields)


def check_schema(wanted: StructType, columns: Sequence[str] = ARROW_SCHEMA.names) -> None:
    """Raise `SettingError` when a reader is asked for other columns than these."""
    if wanted != spark_schema(columns):
        raise SettingError(
            f"schema {wanted.simpleString()} is not that of a topic; leave .schema(...) out and use the "
            f"option columns, or select what you need of {spark_schema(columns).simpleString()}"
        )
