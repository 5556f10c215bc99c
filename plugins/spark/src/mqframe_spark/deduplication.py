"""Doubles left out on the reading side: messages that the sink's repeated tasks have sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mqframe.core.errors import SettingError
from mqframe.core.messages.properties import IDEMPOTENCE_KEY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KEY: Final = "__mqframe_idempotence_key"


def idempotence_key() -> Column:
    """The idempotence key of each row of a topic, as a column; of a message without one its `msg_id`."""
    from pyspark.sql import functions as f

    return f.coalesce(f.col("properties").getItem(IDEMPOTENCE_KEY), f.col("msg_id"))


def drop_doubles(frame: DataFrame, *, within: str = "") -> DataFrame:
    """Rows of a topic without those whose idempotence key came before.

    `frame`: read from a topic, with the columns `properties` and `msg_id`, and of a stream `store_timestamp`.
    `within`: how much later than the first a double may come, as Spark writes intervals, "2 hours"; a stream
    must have it, since it is how long Spark remembers a key. A batch knows all keys that it reads.
    Raises `SettingError` for a column, or a `within`, that is missing.
    """
    needed = ("properties", "msg_id", *(("store_timestamp",) if frame.isStreaming else ()))
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise SettingError(f"drop_doubles needs column {missing[0]}; have it read, and drop it afterwards")
    keyed = frame.withColumn(_KEY, idempotence_key())
    if not frame.isStreaming:
        return keyed.dropDuplicates([_KEY]).drop(_KEY)
    if not within:
        raise SettingError(
            'drop_doubles needs within, as in within="2 hours", to leave doubles out of a stream'
        )
    late = keyed.withWatermark("store_timestamp", within)
    return late.dropDuplicatesWithinWatermark([_KEY]).drop(_KEY)
