"""The page for those who come from Spark's Kafka connector goes through all that it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mqframe_spark", reason="the Spark plugin is not installed")

from mqframe_spark import functions
from mqframe_spark.access import ACCESS_NAMES
from mqframe_spark.kafka_options import instead
from mqframe_spark.records.schema import ARROW_SCHEMA
from mqframe_spark.sink.frame_columns import SINK_COLUMNS
from mqframe_spark.sink.options import SINK_NAMES
from mqframe_spark.source.options import NAMES

PAGE = Path(__file__).parents[2] / "docs/howto/spark_from_kafka.md"
SOURCE = (
    "kafka.bootstrap.servers", "assign", "subscribe", "subscribePattern", "startingTimestamp",
    "startingOffsetsByTimestamp", "startingOffsets", "endingTimestamp", "endingOffsetsByTimestamp",
    "endingOffsets", "startingOffsetsByTimestampStrategy", "failOnDataLoss", "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "maxOffsetsPerTrigger", "minOffsetsPerTrigger",
    "maxTriggerDelay", "minPartitions", "maxRecordsPerPartition", "groupIdPrefix", "kafka.group.id",
    "includeHeaders",
)  # fmt: skip
"""All options of the source of Spark's Kafka connector, of Spark 4.3."""
SINK = ("kafka.bootstrap.servers", "topic", "includeHeaders")
REFUSED = (
    "auto.offset.reset", "key.deserializer", "value.deserializer", "key.serializer", "value.serializer",
    "enable.auto.commit", "interceptor.classes",
)  # fmt: skip
"""Settings of Kafka's clients that its connector takes from nobody."""
SESSION = (
    "spark.kafka.consumer.cache.capacity", "spark.kafka.consumer.fetchedData.cache.timeout",
    "spark.kafka.producer.cache.timeout", "….evictorThreadRunInterval", "….jmx.enable",
    "spark.kafka.clusters", "spark.sql.streaming.kafka.useDeprecatedOffsetFetching",
)  # fmt: skip
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


def part(title: str) -> str:
    """What stands below the heading `title` of the page, down to the next one."""
    found = re.search(rf"^#+ {title}$(.*?)(?=^#|\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def table(title: str) -> Iterator[tuple[list[str], list[str]]]:
    """The names that each row below the heading `title` has: Kafka's, and ours."""
    for line in part(title).splitlines():
        if line.startswith("| ") and not line.startswith("| Kafka "):
            theirs, ours = line.split("|")[1:3]
            yield _names(theirs), _names(ours)


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_goes_through_all_options_of_the_connector() -> None:
    rows = {name: ours for theirs, ours in table("Options of the source") for name in theirs}
    assert [name for name in SOURCE if name not in rows] == []
    written = [name for theirs, _ in table("Options of the sink") for name in theirs]
    assert [name for name in SINK if name not in written] == []
    assert [name for name in REFUSED if f"kafka.{name}" not in (*rows, *written)] == []
    session = part("Settings of the session")
    assert [name for name in SESSION if name not in session] == []
    read = [name for theirs, _ in table("Columns that are read") for name in theirs]
    assert read == list(COLUMNS)


def test_what_the_page_names_is_there() -> None:
    missing = []
    for title, known in (
        ("Options of the source", {*NAMES, *ACCESS_NAMES}),
        ("Options of the sink", {*SINK_NAMES, "foreachBatch"}),
        ("Columns that are read", set(ARROW_SCHEMA.names)),
        ("Columns that are written", set(SINK_COLUMNS)),
    ):
        found = [name for _, ours in table(title) for name in ours]
        missing += [(title, name) for name in found if name not in known]
        assert len(found) > 4
    assert missing == []
    others = part("Options of the source").partition("What only this source has")[2]
    assert [name for name in _names(others) if name not in NAMES] == []
    assert callable(functions.own_properties)


def test_options_that_have_another_name_here_are_answered_with_that_of_the_page() -> None:
    """An option that is the same here is taken; any other is refused, and its answer says what to write."""
    silent, wrong = [], []
    for title, known in (("Options of the source", NAMES), ("Options of the sink", SINK_NAMES)):
        for theirs, ours in table(title):
            for name in theirs:
                if name in known or name.endswith("*") or "outputMode" in name:
                    continue
                told = instead(name)
                silent += [] if told else [name]
                wrong += [name] if ours and not any(each in told for each in ours) else []
    assert (silent, wrong) == ([], [])
