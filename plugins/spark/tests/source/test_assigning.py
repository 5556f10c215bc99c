"""Queues that are named one by one: as an option, in plans and checkpoints, and in a real Spark."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_spark.records.schema import spark_schema
from mqframe_spark.source.assigning import Assigned, parse_assigned
from mqframe_spark.source.bounds import EARLIEST, LATEST, Bound
from mqframe_spark.source.broker_origin import BrokerOrigin
from mqframe_spark.source.file_origin import FileOrigin
from mqframe_spark.source.options import SourceOptions, parse_options
from mqframe_spark.source.planning import Planner
from mqframe_spark.source.stream import StreamReader
from mqframe_testing.cluster import Cluster
from pyspark.sql import functions as f
from pyspark.sql.streaming.datasource import ReadAllAvailable
from sent_rows import Row, Sender

from mqframe.core.errors import FixError, MessageError, SettingError
from mqframe.core.messages.message import MessageQueue

A0, A1, B0 = MessageQueue("t", "a", 0), MessageQueue("t", "a", 1), MessageQueue("t", "b", 0)
ALL = ReadAllAvailable()


def options(assign: Any, **given: str) -> SourceOptions:
    return parse_options({"nameserver": "n:1", "assign": json.dumps(assign), **given})


def planner(wire: Any, chosen: SourceOptions) -> Planner:
    return Planner(chosen, BrokerOrigin(chosen, wire, sleep=lambda seconds: None))


def reader(wire: Any, chosen: SourceOptions) -> StreamReader:
    return StreamReader(chosen, spark_schema(), planner(wire, chosen))


def planned(stream: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[str]:
    return [repr(partition) for partition in stream.partitions(start, end)]


def test_queues_are_named_in_lists_or_with_offsets() -> None:
    plain = parse_assigned('{"t": ["a/1", "b/0", "a/1"], "s": ["a/0"]}')
    assert plain.queues == {A1, B0, MessageQueue("s", "a", 0)}
    assert (plain.topics, plain.starting) == (("s", "t"), None)
    begun = parse_assigned('{"t": {"a/0": 5, "a/1": -2}, "s": ["with/slash/3"]}')
    assert begun.queues == {A0, A1, MessageQueue("s", "with/slash", 3)}
    assert begun.starting == Bound("offsets", offsets={A0: 5, A1: -2})


QUEUES = st.builds(
    MessageQueue, st.sampled_from(["t", "orders"]), st.sampled_from(["a", "b-1", "c/d"]), st.integers(0, 12)
)


@given(st.dictionaries(QUEUES, st.none() | st.integers(-2, 1 << 62), min_size=1))
def test_what_is_written_is_read(wanted: dict[MessageQueue, int | None]) -> None:
    table: dict[str, Any] = {}
    offsets = {}
    for queue, offset in wanted.items():
        name = f"{queue.broker_name}/{queue.queue_id}"
        if all(wanted[other] is None for other in wanted if other.topic == queue.topic):
            table.setdefault(queue.topic, []).append(name)
        else:
            offsets[queue] = -2 if offset is None else offset
            table.setdefault(queue.topic, {})[name] = offsets[queue]
    assert parse_assigned(json.dumps(table)) == Assigned(frozenset(wanted), offsets)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders", r"is no JSON: .*; write \{\"topic\": \[\"broker/queue\"\]\} or"),
        ('["t"]', "names no queue; write"),
        ("{}", "names no queue; write"),
        ('{"t": []}', r"t: \[\] names no queue; write"),
        ('{"t": 3}', "t: 3 names no queue; write"),
        ('{"t": ["a"]}', "t: 'a' is not broker/queue; write"),
        ('{"t": [["a/0"]]}', r"t: \['a/0'\] is not broker/queue; write"),
        (
            '{"t": ["a/0", 1]}',
            r'1 is not broker/queue; queues belong to brokers: write {"t": \["broker-a/1"\]}',
        ),
        ('{"t": {"1": 23}}', r"'1' is not broker/queue; .* write {\"t\": {\"broker-a/1\": 23}}"),
        ('{"t": {"a/0": -3}}', "t: 'a/0': -3 is no offset; write a whole number, -2 for the oldest"),
        ('{"t": {"a/0": true}}', "True is no offset"),
        ('{"t": {"a/0": "earliest"}}', "'earliest' is no offset"),
    ],
)
def test_what_names_no_queue_is_refused(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        parse_assigned(text)
    with pytest.raises(SettingError, match=r"^option assign = "):
        parse_options({"nameserver": "n:1", "assign": text})


def test_a_topic_that_none_can_have_is_refused() -> None:
    with pytest.raises(MessageError, match="a b"):
        parse_assigned('{"a b": ["a/0"]}')


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"topic": "t"}, "options topic and assign contradict each other; give one of them"),
        ({"topicPattern": "t"}, "options topicPattern and assign contradict each other"),
        (
            {"startingOffsets": "latest"},
            r"options assign = .* and startingOffsets = 'latest' contradict each",
        ),
        (
            {"startingTimestamp": "1700000000000"},
            "assign = .* startingTimestamp = '1700000000000' contradict",
        ),
        ({"endingOffsets": '{"t": {"a/0": 4}}'}, "options assign = .* and endingOffsets = .* contradict"),
        ({"endingOffsets": '{"t": {"b/0": 4}}'}, "topic t, queue b/0 is not one of those that option assign"),
        ({"endingTimestamp": '{"u": {"a/0": 1700000000000}}'}, "topic u is not one of those to read"),
    ],
)
def test_options_that_do_not_go_together_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        options({"t": {"a/0": 5}}, **given)


def test_without_offsets_the_options_say_where_reading_begins() -> None:
    assert options({"t": ["a/0"]}).starting == EARLIEST
    assert options({"t": ["a/0"]}, startingOffsets="latest").starting == LATEST
    assert options({"t": {"a/0": 5}}).starting == Bound("offsets", offsets={A0: 5})


def test_a_batch_is_planned_of_these_queues_alone(wire: Any) -> None:
    for number in range(3):
        wire.add(number, 10, begin=2)
    spans = planner(wire, options({"t": {"a/0": 5, "a/2": -1}})).batch()
    assert [tuple(span) for span in spans] == [(A0, 5, 12)]
    wire.calls.clear()
    spans = planner(wire, options({"t": ["a/1"]}, endingOffsets='{"t": {"a/1": 7}}')).batch()
    assert [tuple(span) for span in spans] == [(A1, 2, 7)]
    assert wire.calls == ["route", "min", "max"]  # of the others nothing is asked


def test_a_queue_that_is_not_there_is_refused(wire: Any, store: Any) -> None:
    wire.add(0, 5)
    for chosen in (options({"t": ["a/0", "a/7"]}), options({"t": {"a/7": 1}})):
        for plan in (Planner.batch, Planner.initial):
            with pytest.raises(SettingError, match=r"^option assign = .*: topic t has no queue a/7$"):
                plan(planner(wire, chosen))
    with pytest.raises(SettingError, match=r"option assign = .*a/0: offset 99 lies behind its end, 5"):
        planner(wire, options({"t": {"a/0": 99}})).batch()
    store.add()
    given = {"mode": "files", "path": str(store.folder), "assign": '{"t": ["store/0", "store/1"]}'}
    files = parse_options(given)
    with pytest.raises(SettingError, match="no queue store/1 in its files, where a queue is once it holds"):
        Planner(files, FileOrigin(files)).batch()


def test_a_stream_reads_these_queues_and_takes_in_none_that_appear(wire: Any) -> None:
    for number in range(2):
        wire.add(number, 5)
    stream = reader(wire, options({"t": {"a/1": 3}}))
    begin = stream.initialOffset()
    start = stream.latestOffset(begin, ALL)
    assert start == {"t": {"a/1": 3}}
    wire.add(2, 5)
    end = stream.latestOffset(start, ALL)
    assert end == stream.reportLatestOffset() == {"t": {"a/1": 5}}
    assert planned(stream, start, end) == ["QueueSpan(t, a/1, 3..5)"]


def test_queues_assigned_later_are_read_from_their_beginning(wire: Any) -> None:
    for number in range(2):
        wire.add(number, 5, begin=1)
    stream = reader(wire, options({"t": {"a/0": 3, "a/1": 4}}))
    entered = stream.latestOffset({"t": {"a/0": 4}}, ALL)
    assert entered == {"t": {"a/0": 6, "a/1": 1}}
    end = stream.latestOffset(entered, ALL)
    assert planned(stream, entered, end) == ["QueueSpan(t, a/1, 1..6)"]


def test_a_checkpoint_with_other_queues_is_refused(wire: Any) -> None:
    wire.add(0, 5)
    wire.add(1, 5)
    stream = reader(wire, options({"t": ["a/0"]}))
    start = {"t": {"a/0": 1, "a/1": 2}}
    for ask in (
        lambda: stream.latestOffset(start, ALL),
        lambda: stream.partitions(start, start),
        lambda: stream.commit(start),
    ):
        with pytest.raises(
            FixError, match="checkpoint holds an offset of topic t, queue a/1, which option assi"
        ):
            ask()


def test_a_queue_whose_broker_is_away_waits_while_others_go_on(wire: Any) -> None:
    wire.add(0, 5)
    wire.add(0, 5, broker="b")
    chosen = options({"t": ["a/0", "b/0"]})
    wire.unreachable.add("b")
    assert planner(wire, chosen).now({A0: 1, B0: 2}) == ({}, {A0: 5})
    wire.masterless.add("b")
    wire.unreachable.clear()
    assert planner(wire, chosen).now({A0: 1, B0: 2}) == ({}, {A0: 5})


@pytest.fixture(scope="module")
def sender() -> Iterator[Sender]:
    """Two brokers, two topics, two queues each, and ten messages in each of them."""
    with Cluster(2) as cluster:
        stores = ",".join(f"{name}={cluster.directory / name}" for name in ("broker-a", "broker-b"))
        made = Sender(cluster.nameserver, stores)
        for topic in ("one", "two"):
            cluster.create_topic(topic, 2)
        made.send(10, "one", "two")
        yield made


def rows_of(frame: Any) -> Counter[Row]:
    return Counter((*row[:4], bytes(row.body)) for row in frame.collect())


COLUMNS = ("topic", "broker", "queue_id", "queue_offset", "body")


def expected(sender: Sender, begun: dict[tuple[str, str, int], int]) -> Counter[Row]:
    """What is in these queues from these offsets on."""
    return Counter(row for row in sender.rows if row[3] >= begun.get(row[:3], 1 << 60))


def test_a_batch_reads_the_queues_that_are_named(spark: Any, sender: Sender) -> None:
    brokers = {"nameserver": sender.nameserver}
    files = {"mode": "files", "path": sender.stores}
    named = json.dumps({"one": ["broker-a/0"], "two": ["broker-b/1", "broker-a/1"]})
    begun = json.dumps({"one": {"broker-b/0": 4, "broker-a/1": -1}, "two": {"broker-a/0": -2}})
    until = json.dumps({"one": {"broker-a/0": 3}})
    lists = {("one", "broker-a", 0): 0, ("two", "broker-b", 1): 0, ("two", "broker-a", 1): 0}
    cases = {
        "lists": ({**brokers, "assign": named}, expected(sender, lists)),
        "files": ({**files, "assign": named}, expected(sender, lists)),
        "offsets": (
            {**brokers, "assign": begun},
            expected(sender, {("one", "broker-b", 0): 4, ("two", "broker-a", 0): 0}),
        ),
        "to": (
            {**brokers, "assign": json.dumps({"one": ["broker-a/0"]}), "endingOffsets": until},
            Counter(row for row in sender.rows if row[:3] == ("one", "broker-a", 0) and row[3] < 3),
        ),
        "the end": (
            {**brokers, "assign": named, "startingOffsets": "latest"},
            Counter(),
        ),
    }
    frames = [
        spark.read.format("mqframe").options(**given).load().select(*COLUMNS).withColumn("case", f.lit(name))
        for name, (given, _) in cases.items()
    ]
    found = reduce(lambda left, right: left.union(right), frames).cache()
    for name, (_, rows) in cases.items():
        assert rows_of(found.where(f"case = '{name}'")) == rows, name
    missing = spark.read.format("mqframe").options(**brokers, assign='{"one": ["broker-a/9"]}').load()
    with pytest.raises(Exception, match=r"option assign = .*: topic one has no queue broker-a/9"):
        missing.count()


def run(spark: Any, sender: Sender, folder: Path, **given: str) -> list[dict[str, Any]]:
    """Have a stream read what is there into Parquet; gives where each micro-batch with rows ended."""
    query = (
        spark.readStream.format("mqframe")
        .options(nameserver=sender.nameserver, **given)
        .load()
        .select(*COLUMNS, f.spark_partition_id().alias("task"))
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    return [json.loads(each.sources[0].endOffset) for each in query.recentProgress if each.numInputRows]


def test_a_stream_reads_the_queues_that_are_named_on_and_on(
    spark: Any, sender: Sender, tmp_path: Path
) -> None:
    begun = {("one", "broker-a", 0): 6, ("one", "broker-b", 1): 0}
    first = {"one": {"broker-a/0": 6, "broker-b/1": -2}}
    ends = run(spark, sender, tmp_path, assign=json.dumps(first))
    assert ends == [{"one": {"broker-a/0": 10, "broker-b/1": 10}}]
    landed = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(landed) == expected(sender, begun)
    # One queue more, from its beginning; where the others begin is in the checkpoint by now.
    more = {"one": {"broker-a/0": 2, "broker-b/1": 3}, "two": ["broker-a/0"]}
    ends = run(spark, sender, tmp_path, assign=json.dumps(more))
    assert ends == [{"one": {"broker-a/0": 10, "broker-b/1": 10}, "two": {"broker-a/0": 10}}]
    landed = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(landed) == expected(sender, {**begun, ("two", "broker-a", 0): 0})
    with pytest.raises(Exception, match=r"queue broker-b/1, which option assign = .* does not name"):
        run(spark, sender, tmp_path, assign='{"one": ["broker-a/0"], "two": ["broker-a/0"]}')


def test_no_task_reads_more_messages_than_it_may(spark: Any, sender: Sender, tmp_path: Path) -> None:
    given = {"nameserver": sender.nameserver, "topic": "one", "maxRecordsPerPartition": "4"}
    frame = spark.read.format("mqframe").options(**given).load()
    spans = frame.groupBy(f.spark_partition_id(), "broker", "queue_id").agg(
        f.min("queue_offset").alias("low"), f.max("queue_offset").alias("high"), f.count("*").alias("count")
    )
    found = sorted((row.broker, row.queue_id, row.low, row.high, row["count"]) for row in spans.collect())
    pieces = ((0, 2, 3), (3, 5, 3), (6, 9, 4))
    assert found == [
        (broker, queue, *piece) for broker in ("broker-a", "broker-b") for queue in (0, 1) for piece in pieces
    ]
    both = spark.read.format("mqframe").options(**given, minPartitions="16").load()
    assert both.rdd.getNumPartitions() == 16
    everything = {("one", broker, queue): 0 for broker in ("broker-a", "broker-b") for queue in (0, 1)}
    assert rows_of(both.select(*COLUMNS)) == expected(sender, everything)
    run(spark, sender, tmp_path, topic="one", maxRecordsPerPartition="7")
    landed = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(landed) == expected(sender, everything)
    assert Counter(row.task for row in landed.collect()) == Counter(dict.fromkeys(range(8), 5))
