"""How much was sent when, and how far groups are behind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.core.errors import SettingError
from mqframe_spark.jobs.failures import spark_errors
from mqframe_spark.source.options import parse_options
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.tasks import open_origin
from mqframe_spark.zones import zoned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mqframe.core.messages.message import MessageQueue

GROUPINGS: Final = {
    "topic": ("topic",),
    "queue": ("topic", "broker", "queue_id"),
    "hour": ("topic", "hour"),
}
"""What a line stands for, and the columns that name it."""


@attrs.frozen(kw_only=True)
class ReportPlan:
    """What to look at. `source`: options of the source, bounds among them; `by`: topic, queue or hour (UTC);
    `groups`: whose lag is told."""

    source: Mapping[str, str]
    by: str = "topic"
    groups: tuple[str, ...] = ()


def check_report(options: ReportPlan) -> None:
    """Raise `SettingError` when `options` contradict each other."""
    if options.by not in GROUPINGS:
        raise SettingError(f"--by {options.by}: choose one of {', '.join(GROUPINGS)}")


def report(spark: SparkSession, options: ReportPlan) -> list[dict[str, Any]]:
    """Messages, bytes of bodies (decompressed), first and last time, and rates between these two."""
    from pyspark.sql import functions as f

    check_report(options)
    columns = "topic,broker,queue_id,store_timestamp,body"
    keys = GROUPINGS[options.by]
    with spark_errors():
        reading = {**zoned(spark, options.source), "columns": columns}
        frame = spark.read.format("mqframe").options(**reading).load()
        milliseconds = f.unix_millis("store_timestamp")
        hour = f.floor(milliseconds / 3_600_000).cast("long")
        found = (
            frame.withColumn("hour", hour)
            .groupBy(*keys)
            .agg(
                f.count(f.lit(1)).alias("messages"),
                f.sum(f.length("body")).alias("bytes"),
                f.min(milliseconds).alias("first"),
                f.max(milliseconds).alias("last"),
            )
            .orderBy(*keys)
            .collect()
        )
    return [_line(row.asDict(), keys) for row in found]


def _line(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    seconds = (row["last"] - row["first"]) / 1000
    named = {key.removesuffix("_id"): row[key] for key in keys}
    if "hour" in named:
        named["hour"] = _time(named["hour"] * 3_600_000)[:13] + ":00Z"
    return {
        **named,
        "messages": row["messages"],
        "bytes": row["bytes"],
        "first": _time(row["first"]),
        "last": _time(row["last"]),
        "messages_per_second": round(row["messages"] / seconds, 1) if seconds else None,
        "bytes_per_second": round(row["bytes"] / seconds) if seconds else None,
    }


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def lags(options: ReportPlan) -> list[dict[str, Any]]:
    """How far each group is behind the ends of the queues. Nothing is read of the messages.

    `consumed` and `lag` are `None` where a group has no offset; by topic such queues do not count. Raises
    `SettingError` for a group that none of the topics knows.
    """
    check_report(options)
    source = parse_options(options.source)
    origin = open_origin(source)
    try:
        planner = Planner(source, origin)
        heads = planner.heads()
        for group in options.groups:
            planner.check_group(group, {queue.topic for queue in heads})
        rows = [
            _lag(group, queue, origin.of_group(queue, group), end)
            for group in options.groups
            for queue, end in sorted(heads.items())
        ]
    finally:
        origin.close()
    return rows if options.by == "queue" else by_topic(rows)


def _lag(group: str, queue: MessageQueue, consumed: int | None, end: int) -> dict[str, Any]:
    return {
        "group": group,
        "topic": queue.topic,
        "broker": queue.broker_name,
        "queue": queue.queue_id,
        "consumed": consumed,
        "end": end,
        "lag": None if consumed is None else max(0, end - consumed),
    }


def by_topic(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of queues summed up, one for each group and topic."""
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        found = sums.setdefault(
            (row["group"], row["topic"]),
            {"group": row["group"], "topic": row["topic"], "queues": 0, "without_offset": 0, "lag": None},
        )
        found["queues"] += 1
        if row["lag"] is None:
            found["without_offset"] += 1
        else:
            found["lag"] = (found["lag"] or 0) + row["lag"]
    return list(sums.values())
