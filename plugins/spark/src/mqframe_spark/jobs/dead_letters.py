"""Sends dead letters again, those that a condition chooses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
from mqframe_admin.rules.dead_letters import MARK, ResendTo

from mqframe.core.errors import FixError
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.ids import offset_id
from mqframe.core.messages.names import check_group, dead_letter_topic, retry_topic
from mqframe.core.messages.properties import RETRY_TOPIC
from mqframe_spark.functions import own_properties
from mqframe_spark.jobs.clusters import check_target, ends, open_admin, write_queues
from mqframe_spark.jobs.copying import connection, copies
from mqframe_spark.jobs.failures import spark_errors
from mqframe_spark.jobs.resending import Resend, resend
from mqframe_spark.source.positions import to_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORIGINAL: Final = "original_topic"
TEXT: Final = "text"
MARKED: Final = "mark"
CLOCKS_APART_MS: Final = 600_000


@attrs.frozen(kw_only=True)
class Republish:
    """Which dead letters to send where.

    `source`: options of the source, without topic and bounds. `where`: SQL condition over the columns,
    `original_topic`, and `text`, the body as text; empty: all. `to`: the group that gave them up, through its
    retry topic, or each one's original topic. `into`: a topic for all of them instead. `again`: also those of
    which a copy is there. `commit_path`: for copies to topics, the folder for the record of the sink's
    commits, which then writes exactly once; empty: it writes at least once.
    """

    source: Mapping[str, str]
    group: str
    where: str = ""
    to: ResendTo = ResendTo.GROUP
    into: str = ""
    again: bool = False
    commit_path: str = ""

    @property
    def topic(self) -> str:
        """The topic of the group's dead letters."""
        return dead_letter_topic(self.group)

    @property
    def to_group(self) -> bool:
        """Whether the group alone gets the copies."""
        return self.to is ResendTo.GROUP and not self.into

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
        return admin.dead_letters.open(options.group)


def republish_dead_letters(spark: SparkSession, options: Republish, *, dry_run: bool = False) -> Republished:
    """Send copies of the chosen dead letters, which stay where they are.

    Of each one a copy is looked for first: whatever this job or `mqframe dlq resend` sent says in the
    property MQFRAME_DEAD_LETTER where it is from. So started again, it sends what is missing. Raises
    `FixError` for SQL that Spark refuses, for a topic that is not there any more, and for a group that
    consumes in order: brokers take copies to it for failures, and they are dead letters again.
    """
    reading = {**options.source, "topic": options.topic}
    # What is given up from here on is left for the next time: all that follows is about the same letters.
    bounds = json.dumps(to_json(ends(reading)))
    with spark_errors():
        frame = spark.read.format("mqframe").options(**reading, endingOffsets=bounds).load()
        letters = _letters(frame)
    with spark_errors(f"--where {options.where!r}"):
        facts = _facts(letters, options.where)
    with spark_errors():
        found = facts.collect()
        total, chosen = sum(row["all"] for row in found), [row for row in found if row["chosen"]]
        if not chosen:
            return Republished(total, 0, 0, {})
        topics = {row[ORIGINAL] for row in chosen}
        _check_targets(options, topics)
        wanted = letters.where(options.where) if options.where else letters
        rest = marked(wanted, options.group, {row["store_host"] for row in chosen})
        if not options.again:
            rest = _without_copies(spark, options, rest, topics, min(row["oldest"] for row in chosen))
        sent = _send(options, rest, dry_run)
    count = sum(row["chosen"] for row in chosen)
    return Republished(total, count, count - sum(sent.values()), sent)


def _letters(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.withColumns(
        {
            ORIGINAL: f.coalesce(f.col("properties")[RETRY_TOPIC], f.col("topic")),
            TEXT: f.col("body").cast("string"),
        }
    )


def _facts(letters: DataFrame, where: str) -> DataFrame:
    """How many letters there are and are chosen, and when the oldest of these was given up (ms), by original
    topic and broker's address."""
    from pyspark.sql import functions as f

    chosen = f.expr(where) if where else f.lit(True)
    return letters.groupBy(ORIGINAL, "store_host").agg(
        f.count(f.lit(1)).alias("all"),
        f.count_if(chosen).alias("chosen"),
        f.unix_millis(f.min(f.when(chosen, f.col("store_timestamp")))).alias("oldest"),
    )


def marked(letters: DataFrame, group: str, hosts: Iterable[str]) -> DataFrame:
    """`letters` with the mark of a copy: the group, and the broker's id of the dead letter.

    `hosts`: the brokers' addresses. Ids of one broker differ in the offset only, so tasks run no Python code.
    """
    from pyspark.sql import functions as f

    starts = [
        f.lit(value)
        for host in sorted(hosts)
        for value in (host, f"{group}@{offset_id(encode_host(host), 0)[:-16]}")
    ]
    offset = f.lpad(f.hex("commitlog_offset"), 16, "0")
    return letters.withColumn(MARKED, f.concat(f.create_map(*starts)[f.col("store_host")], offset))


def _send(options: Republish, letters: DataFrame, dry_run: bool) -> dict[str, int]:
    """Send them, unless it is a dry run; how many go to which topic."""
    from pyspark.sql import functions as f

    if options.to_group and not dry_run:
        return resend(
            letters.select(MARKED), Resend(connection(options.source), options.group, options.again)
        )
    into = retry_topic(options.group) if options.to_group else options.into
    target = f.lit(into) if into else f.col(ORIGINAL)
    counts = letters.groupBy(target.alias("target")).count().orderBy("target").collect()
    if counts and not dry_run:
        properties = f.map_concat(own_properties(MARK), f.create_map(f.lit(MARK), f.col(MARKED)))
        frame = copies(letters, more={"topic": target, "properties": properties})
        frame.write.format("mqframe").mode("append").options(**options.writing()).save()
    return {row["target"]: row["count"] for row in counts}


def _check_targets(options: Republish, originals: set[str]) -> None:
    option = "--into" if options.into else f"dead letters of {options.group} came from topic"
    with open_admin(options.source) as admin:
        if options.to_group:
            retry = retry_topic(options.group)
            if not write_queues(admin, retry):
                raise FixError(
                    f"no broker has {retry}, through which {options.group} alone gets messages again; start "
                    "a consumer of the group, which makes it, or send to the original topics: --to topic"
                )
            return
        for topic in sorted({options.into} if options.into else originals):
            check_target(admin, option, topic)


def _without_copies(
    spark: SparkSession, options: Republish, letters: DataFrame, originals: set[str], oldest_ms: int
) -> DataFrame:
    """Those of `letters` of which no copy is in their original topics, the retry topic, or `into`."""
    from pyspark.sql import functions as f

    places = {*originals, retry_topic(options.group), *filter(None, [options.into])}
    with open_admin(options.source) as admin:
        there = [name for name in sorted(places) if write_queues(admin, name)]
    reading = {
        **connection(options.source),
        "topics": ",".join(there),
        # A copy is younger than its dead letter, as far as the clocks of brokers agree.
        "startingTimestamp": str(max(0, oldest_ms - CLOCKS_APART_MS)),
        "columns": "properties",
    }
    frame = spark.read.format("mqframe").options(**reading).load()
    marks = frame.select(f.col("properties")[MARK].alias(MARKED)).where(f.col(MARKED).isNotNull())
    return letters.join(marks.distinct(), MARKED, "left_anti")
