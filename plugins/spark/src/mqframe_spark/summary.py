"""Counts and sums by tag over a topic, computed by a Spark job."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mqframe.hooks.interfaces import TagSummary, TopicSummary
from mqframe.hooks.specs import Factories, hookimpl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkSummary(TopicSummary):
    """Reads the topic as a table in a local session."""

    def summarize(self, nameserver: str, topic: str, value: str) -> dict[str, TagSummary]:
        """Run the job; takes seconds."""
        from mqframe_spark.local import local_session

        session = local_session("mqframe summary")
        try:
            with warnings.catch_warnings():
                # PySpark warns of versions of pandas, which nothing here uses.
                warnings.simplefilter("ignore", FutureWarning)
                reader = session.read.format("mqframe").options(nameserver=nameserver, topic=topic)
                return by_tag(reader.load(), value)
        finally:
            session.stop()


def by_tag(table: DataFrame, value: str = "") -> dict[str, TagSummary]:
    """The rows of a topic counted by tag ("" for those without), and their field `value` summed up."""
    from pyspark.sql import functions as f

    number = f.lit(None).cast("double")
    if value:
        schema = f"`{value.replace('`', '``')}` double"
        number = f.from_json(f.col("body").cast("string"), schema).getField(value)
    grouped = (
        table.select(f.col("tags"), number.alias("number"))
        .groupBy("tags")
        .agg(f.count("*").alias("count"), f.count("number").alias("values"), f.sum("number").alias("total"))
    )
    return {
        row["tags"] or "": TagSummary(row["count"], row["values"], row["total"] or 0.0)
        for row in grouped.collect()
    }


@hookimpl
def register_topic_summaries() -> Factories:
    """`spark`."""
    return {"spark": SparkSummary}
