"""Finds messages by Spark SQL, most of all in the files of a store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.core.errors import SettingError
from mqframe_spark.jobs.failures import spark_errors
from mqframe_spark.zones import zoned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW: Final = "messages"
SHOWN: Final = (
    "topic", "broker", "queue_id", "queue_offset", "store_timestamp", "msg_id", "tags", "keys", "properties",
    "text",
)  # fmt: skip
"""Columns of what a condition finds."""
_QUERY: Final = re.compile(r"\s*(select|with)\b", re.IGNORECASE)


@attrs.frozen(kw_only=True)
class Search:
    """What to look for. `source`: options of the source. `sql`: a condition over the columns and `text`, the
    body as text; or a whole query, SELECT or WITH, over the view `messages`. `limit`: rows at most."""

    source: Mapping[str, str]
    sql: str
    limit: int = 20


@attrs.frozen
class Found:
    """`rows`: what was found, as JSON has it; `more`: whether there is more than the limit lets through."""

    rows: list[dict[str, Any]]
    more: bool


def search(spark: SparkSession, options: Search) -> Found:
    """The messages, or rows, that `options` ask for. Raises `FixError` for SQL that Spark refuses."""
    if not options.sql.strip():
        raise SettingError("--sql is empty; write a condition, or a query over messages")
    with spark_errors():
        frame = spark.read.format("mqframe").options(**zoned(spark, options.source)).load()
    with_text = frame.withColumn("text", frame["body"].cast("string"))
    with spark_errors(f"--sql {options.sql!r}"):
        found = _query(spark, with_text, options.sql).limit(options.limit + 1)
        found.schema  # noqa: B018 - through Spark Connect nothing is looked at before
    with spark_errors():
        rows = [plain_value(row.asDict()) for row in found.collect()]
    return Found(rows[: options.limit], len(rows) > options.limit)


def _query(spark: SparkSession, frame: DataFrame, sql: str) -> DataFrame:
    if not _QUERY.match(sql):
        return frame.where(sql).select(*SHOWN)
    frame.createOrReplaceTempView(VIEW)
    try:
        return spark.sql(sql)
    finally:
        spark.catalog.dropTempView(VIEW)


def plain_value(value: Any) -> Any:
    """`value`, of whatever Spark type, as JSON has it: times as ISO 8601 in UTC, bytes as text."""
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, datetime):
        # Spark hands times over in this machine's zone, without naming it.
        return value.astimezone(UTC).isoformat(timespec="milliseconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {str(plain_value(key)): plain_value(item) for key, item in value.items()}
    if hasattr(value, "asDict"):
        return plain_value(value.asDict())
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    return value
