"""Messages that were read as a frame to write: what of a message goes on to its copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mqframe.core.messages import properties as p
from mqframe_spark.access import ACCESS_NAMES
from mqframe_spark.functions import own_properties

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from mqframe.core.messages.message import MessageQueue

STORED_SHARDING_KEY: Final = f"properties['{p.SHARDING_KEY}']"
"""Where a sharding key is that a sender stored with the message; few do."""
COPIED_COLUMNS: Final = ("topic", "unique_key", "msg_id", "tags", "keys", "properties", "body", "flag")


def copies(
    frame: DataFrame, *, sharding_key: str = "", more: Mapping[str, Column] | None = None
) -> DataFrame:
    """Each message of `frame` as a row that the sink takes, without its topic.

    Body, tag, keys, flag and the sender's own properties stay; what brokers and clients noted on the way is
    left out, and the copy gets a unique key of its own. Its idempotence key is the one that the message has,
    else the message's id: copies of one message share it, however often it is copied. `sharding_key`: an SQL
    expression over the columns. `more`: columns to add, or to have instead.
    """
    from pyspark.sql import functions as f

    columns = {
        "body": f.col("body"),
        "tags": f.col("tags"),
        "keys": f.col("keys"),
        "flag": f.col("flag"),
        "properties": own_properties(),
        "sharding_key": f.expr(sharding_key or STORED_SHARDING_KEY).cast("string"),
        "idempotence_key": f.coalesce(f.col("properties")[p.IDEMPOTENCE_KEY], f.col("msg_id")),
        **(more or {}),
    }
    return frame.select(*(column.alias(name) for name, column in columns.items()))


def not_before(frame: DataFrame, offsets: Mapping[MessageQueue, int]) -> DataFrame:
    """`frame`, of one topic, without the messages that lie before `offsets` in their queue."""
    from pyspark.sql import functions as f

    if not offsets:
        return frame
    table = [
        f.lit(value)
        for queue, offset in offsets.items()
        for value in (f"{queue.broker_name}/{queue.queue_id}", offset)
    ]
    queue = f.concat_ws("/", "broker", f.col("queue_id").cast("string"))
    return frame.where(f.col("queue_offset") >= f.coalesce(f.create_map(*table)[queue], f.lit(0)))


def connection(source: Mapping[str, str]) -> dict[str, str]:
    """Those of the source's options that say which cluster it is, and how to get in."""
    wanted = {name.lower() for name in ("nameserver", *ACCESS_NAMES)}
    return {name: value for name, value in source.items() if name.lower() in wanted}
