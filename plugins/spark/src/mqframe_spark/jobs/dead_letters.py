"""Sends dead letters again, those that a condition chooses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.core.dead_letter_rules import MARK
from mqframe.core.errors import FixError
from mqframe.core.host import encode_host
from mqframe.core.ids import offset_id
from mqframe.core.properties import RETRY_TOPIC
from mqframe.core.topics import check_group, dead_letter_topic, retry_topic
from mqframe_spark.jobs.clusters import check_target, open_admin, waiting, write_queues
from mqframe_spark.jobs.copying import connection, copies, own_properties
from mqframe_spark.jobs.failures import spark_errors
from mqframe_spark.positions import to_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORIGINAL: Final = "original_topic"
TEXT: Final = "text"


@attrs.frozen(kw_only=True)
class Republish:
    """Which dead letters to send where.

    `source`: options of the source, without topic and bounds. `where`: SQL condition over the columns,
    `original_topic`, and `text`, the body as text; empty: all. `into`: a topic for all of them instead of
    each one's original topic. `again`: also those of which a copy is there. `commit_path`: folder for the
    record of the sink's commits, which then writes exactly once; empty: it writes at least once.
    """

    source: Mapping[str, str]
    group: str
    where: str = ""
    into: str = ""
    again: bool = False
    commit_path: str = ""

    @property
    def topic(self) -> str:
        """The topic of the group's dead letters."""
        return dead_letter_topic(self.group)

    def writing(self) -> dict[str, str]:
        """Options of the sink."""
        made = connection(self.source)
        return {**made, "exactlyOnce": "true", "commitPath": self.commit_path} if self.commit_path else made


@attrs.frozen
class Republished:
    """How many dead letters there are, the condition chose, and had a copy already; and how many were sent,
    or, in a dry run, would be, by topic."""

    dead_letters: int
    chosen: int
    sent_before: int
    topics: Mapping[str, int]

    def row(self) -> dict[str, Any]:
        """For people and programs."""
        return {
            "dead_letters": self.dead_letters,
            "chosen": self.chosen,
            "sent_before": self.sent_before,
            "sent": sum(self.topics.values()),
            "topics": dict(self.topics),
        }


def open_letters(options: Republish) -> list[str]:
    """Make the dead letters readable where they are not; the brokers on which that was a change.

    Raises `FixError` when the group never gave a message up.
    """
    check_group(options.group)
    with open_admin(options.source) as admin:
        if not write_queues(admin, options.topic):
            raise FixError(f"group {options.group} has no dead letters: there is no topic {options.topic}")
        return admin.open_dead_letters(options.group)


def republish_dead_letters(spark: SparkSession, options: Republish, *, dry_run: bool = False) -> Republished:
    """Send copies of the chosen dead letters, which stay where they are.

    Of each one a copy is looked for first: whatever this job or `mqframe dlq resend` sent says in the
    property MQFRAME_DEAD_LETTER where it is from. So started again, it sends what is missing. Raises
    `FixError` for SQL that Spark refuses, and for a topic that is not there any more.
    """
    found = {each.queue: each.end for each in waiting({**options.source, "topic": options.topic})}
    if not found:
        return Republished(0, 0, 0, {})
    # What is given up from here on is left for the next time: every count below is of the same letters.
    bounds = json.dumps(to_json(found))
    with spark_errors():
        reading = {**options.source, "topic": options.topic, "endingOffsets": bounds}
        letters = _letters(spark.read.format("mqframe").options(**reading).load(), options.group)
    chosen = letters
    if options.where:
        with spark_errors(f"--where {options.where!r}"):
            chosen = letters.where(options.where)
            chosen.schema  # noqa: B018 - through Spark Connect nothing is looked at before
    with spark_errors():
        return _send(spark, options, letters.count(), chosen, dry_run)


def _letters(frame: DataFrame, group: str) -> DataFrame:
    from pyspark.sql import functions as f

    letter_id = f.udf(_offset_id, "string")(f.col("store_host"), f.col("commitlog_offset"))
    return frame.withColumns(
        {
            ORIGINAL: f.coalesce(f.col("properties")[RETRY_TOPIC], f.col("topic")),
            TEXT: f.col("body").cast("string"),
            "mark": f.concat(f.lit(f"{group}@"), letter_id),
        }
    )


def _offset_id(host: str, offset: int) -> str:
    """The broker's id of the message at a commit-log offset."""
    return offset_id(encode_host(host), offset)


def _send(
    spark: SparkSession, options: Republish, total: int, chosen: DataFrame, dry_run: bool
) -> Republished:
    from pyspark.sql import functions as f

    facts = chosen.groupBy(ORIGINAL).agg(
        f.count(f.lit(1)).alias("n"), f.unix_millis(f.min("store_timestamp")).alias("oldest")
    )
    topics = {row[ORIGINAL]: row for row in facts.collect()}
    count = sum(row["n"] for row in topics.values())
    if not topics:
        return Republished(total, 0, 0, {})
    targets = {options.into} if options.into else set(topics)
    _check_targets(options, targets)
    rest = chosen
    if not options.again:
        since = min(row["oldest"] for row in topics.values())
        marks = _marks(spark, options, targets | set(topics), since)
        rest = chosen if marks is None else chosen.join(marks, "mark", "left_anti")
    target = f.lit(options.into) if options.into else f.col(ORIGINAL)
    sent = {row["target"]: row["count"] for row in rest.groupBy(target.alias("target")).count().collect()}
    left = sum(sent.values())
    if left and not dry_run:
        properties = f.map_concat(own_properties(MARK), f.create_map(f.lit(MARK), f.col("mark")))
        frame = copies(rest, more={"topic": target, "properties": properties})
        frame.write.format("mqframe").mode("append").options(**options.writing()).save()
    return Republished(total, count, count - left, dict(sorted(sent.items())))


def _check_targets(options: Republish, targets: set[str]) -> None:
    option = "--into" if options.into else f"dead letters of {options.group} came from topic"
    with open_admin(options.source) as admin:
        for topic in sorted(targets):
            check_target(admin, option, topic)


def _marks(spark: SparkSession, options: Republish, topics: set[str], since_ms: int) -> DataFrame | None:
    """The marks of copies that were sent before; no copy is older than its dead letter."""
    from pyspark.sql import functions as f

    with open_admin(options.source) as admin:
        places = [name for name in sorted(topics | {retry_topic(options.group)}) if write_queues(admin, name)]
    if not places:
        return None
    reading = {
        **connection(options.source),
        "topics": ",".join(places),
        "startingTimestamp": str(since_ms),
        "columns": "properties",
    }
    frame = spark.read.format("mqframe").options(**reading).load()
    return frame.select(f.col("properties")[MARK].alias("mark")).where("mark is not null").distinct()
