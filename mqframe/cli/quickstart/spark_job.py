"""The Spark job of quickstart: the same counts and means, computed from the topic."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

from mqframe.cli.quickstart.summary import Group
from mqframe.core.errors import FixError

INSTALL = 'pip install "mqframe[spark]"'


def need_spark() -> None:
    """Raise `FixError` with the install line unless Spark and its source are installed."""
    if find_spec("pyspark") is None or find_spec("pyspark_mqframe") is None:
        raise FixError(f"quickstart runs a Spark job; install what it needs with: {INSTALL}")


def summarize(nameserver: str, topic: str, value: str) -> dict[str, Group]:
    """Count, number of values and their sum by tag, over all messages of `topic`.

    `value`: the field of the JSON body to add up; "" counts only.
    """
    from mqframe_spark import local_session

    session = local_session("mqframe quickstart")
    try:
        with warnings.catch_warnings():
            # PySpark warns of versions of pandas, which nothing here uses.
            warnings.simplefilter("ignore", FutureWarning)
            return _rows(session, nameserver, topic, value)
    finally:
        session.stop()


def _rows(session: Any, nameserver: str, topic: str, value: str) -> dict[str, Group]:
    from pyspark.sql import functions as f

    table = session.read.format("mqframe").option("nameserver", nameserver).option("topic", topic).load()
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
        row["tags"] or "": Group(row["count"], row["values"], row["total"] or 0.0)
        for row in grouped.collect()
    }
