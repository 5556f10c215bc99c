"""A stream from one topic into another, until what is there now was copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mqframe_spark.jobs.failures import spark_errors
from mqframe_spark.jobs.watching import StopRequest, Tell, Totals, follow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def transfer(
    spark: SparkSession,
    reading: Mapping[str, str],
    make: Callable[[DataFrame], DataFrame],
    writing: Mapping[str, str],
    checkpoint: str,
    *,
    tell: Tell | None = None,
    stop: StopRequest | None = None,
) -> Totals:
    """Write what `make` makes of the stream that the options `reading` mean, with the options `writing`.

    `tell`, `stop`: as of `follow`. Raises Spark's errors as those of mqframe.
    """
    with spark_errors():
        frame = spark.readStream.format("mqframe").options(**reading).load()
        query = (
            make(frame)
            .writeStream.format("mqframe")
            .options(**writing)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            return follow(query, tell, stop)
        finally:
            if query.isActive:
                query.stop()
