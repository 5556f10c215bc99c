"""The source in a real Spark, over a real broker."""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.lake.dispatcher import ParquetDispatcher
from mqframe_testing.cluster import Cluster

from mqframe import Message, PluginManager, Producer, hookimpl

Row = tuple[int, int, bytes]


class Traffic:
    """Sends messages and remembers what every queue must hold."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.topic = topic
        self.nameserver = cluster.nameserver
        self.sent: list[Row] = []
        self.ids: dict[tuple[int, int], str] = {}

    def send(self, count: int, size: int = 0) -> None:
        with Producer(group="p", nameserver=self.nameserver) as producer:
            for _ in range(count):
                number = len(self.sent)
                body = b"message %d " % number + b"x" * size
                message = Message(
                    self.topic, body, tag=f"tag{number % 3}", keys=["all", f"k{number}"],
                    properties={"number": str(number), "word": "größer €"},
                )  # fmt: skip
                result = producer.send(message)
                self.sent.append((result.queue.queue_id, result.queue_offset, body))
                self.ids[result.queue.queue_id, result.queue_offset] = result.message_id


@pytest.fixture
def traffic(mqframe_shared_cluster, request) -> Traffic:
    topic = request.node.name.split("[")[0]
    mqframe_shared_cluster.create_topic(topic, 3)
    return Traffic(mqframe_shared_cluster, topic)


def source(spark, traffic: Traffic, *, stream: bool = False, **options: Any) -> Any:
    reader = spark.readStream if stream else spark.read
    given = {"nameserver": traffic.nameserver, "topic": traffic.topic, **options}
    chosen = {name: value for name, value in given.items() if value is not None}
    return reader.format("mqframe").options(**chosen).load()


def rows(frame) -> list[Row]:
    return [
        (row.queue_id, row.queue_offset, bytes(row.body))
        for row in frame.select("queue_id", "queue_offset", "body").collect()
    ]


def run_stream(spark, traffic: Traffic, folder: Path, **options: Any) -> list[int]:
    """Read what is there into Parquet below `folder`; gives the rows of each micro-batch."""
    query = (
        source(spark, traffic, stream=True, **options)
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def landed(spark, folder: Path) -> Counter[Row]:
    return Counter(rows(spark.read.parquet(str(folder / "out"))))


def test_a_batch_holds_every_message_once(spark, traffic) -> None:
    traffic.send(40)
    traffic.send(3, size=6000)  # compressed on the way
    frame = source(spark, traffic)
    assert frame.rdd.getNumPartitions() == 3
    assert Counter(rows(frame)) == Counter(traffic.sent)


def test_the_columns_say_what_was_sent(spark, traffic) -> None:
    traffic.send(1)
    (row,) = source(spark, traffic).collect()
    queue_id, offset, body = traffic.sent[0]
    assert (row.topic, row.broker, row.queue_id, row.queue_offset) == (
        traffic.topic,
        "broker-a",
        queue_id,
        offset,
    )
    assert (row.tags, row["keys"], bytes(row.body)) == ("tag0", "all k0", body)
    assert row.msg_id == traffic.ids[queue_id, offset] == row.properties["UNIQ_KEY"]
    assert {name: row.properties[name] for name in ("number", "word", "TAGS")} == {
        "number": "0",
        "word": "größer €",
        "TAGS": "tag0",
    }
    assert row.born_timestamp <= row.store_timestamp
    assert source(spark, traffic).schema.fieldNames() == [
        "topic", "broker", "queue_id", "queue_offset", "commitlog_offset", "msg_id", "unique_key", "tags",
        "keys", "properties", "body", "flag", "sys_flag", "born_timestamp", "store_timestamp", "born_host",
        "store_host", "reconsume_times",
    ]  # fmt: skip


def test_a_batch_of_one_request_is_read_message_by_message(spark, traffic) -> None:
    with Producer(group="p", nameserver=traffic.nameserver) as producer:
        producer.send_batch([Message(traffic.topic, b"%d" % i) for i in range(5)])
    got = source(spark, traffic).orderBy("queue_offset").collect()
    assert [bytes(row.body) for row in got] == [b"0", b"1", b"2", b"3", b"4"]


def test_an_empty_topic_has_columns_and_no_rows(spark, traffic) -> None:
    frame = source(spark, traffic)
    assert frame.collect() == []
    assert frame.columns[0] == "topic"


def test_what_is_wrong_is_said_before_a_job_starts(spark, traffic) -> None:
    for options, said in (
        ({"topic": "nowhere"}, "option topic = 'nowhere': the name server at"),
        ({"topic": "a b"}, "option topic = 'a b'"),
        (
            {"nameserver": "127.0.0.1:1", "retries": "0"},
            "option nameserver = '127.0.0.1:1': no name server answered",
        ),
        ({"offsets": "x"}, "unknown option offsets = 'x'"),
        ({"startingOffsets": "soon"}, "option startingOffsets = 'soon'"),
        ({"startingOffsets": '{"x": {"a/0": 1}}'}, "topic x is not one of those to read"),
        ({"maxOffsetsPerTrigger": "5"}, "option maxOffsetsPerTrigger = '5': only streams have it"),
    ):
        with pytest.raises(Exception, match=r"mqframe") as problem:
            source(spark, traffic, **options).count()
        assert said in str(problem.value)


def test_files_and_brokers_say_the_same(spark, traffic, mqframe_shared_cluster) -> None:
    traffic.send(60)
    traffic.send(3, size=6000)
    path = str(mqframe_shared_cluster.directory / "broker-a")
    direct = spark.read.format("mqframe").options(mode="files", path=path, topic=traffic.topic).load()
    assert Counter(rows(direct)) == Counter(traffic.sent)
    names = direct.columns

    def told(frame) -> list[str]:
        return sorted(str(row) for row in frame.select(names).collect())

    assert told(direct) == told(source(spark, traffic))


def test_columns_bounds_and_tags_are_heeded(spark, traffic) -> None:
    traffic.send(30)
    frame = source(spark, traffic, columns="queue_offset,tags", tags="tag1", startingOffsets="earliest")
    assert frame.columns == ["queue_offset", "tags"]
    assert [row.tags for row in frame.collect()] == ["tag1"] * 10
    queue_id, offset, _ = max(traffic.sent, key=lambda row: row[:2])
    from_there = json.dumps({traffic.topic: {f"broker-a/{queue_id}": offset}})
    assert (queue_id, offset) in {
        row[:2] for row in rows(source(spark, traffic, startingOffsets=from_there, minPartitions="7"))
    }
    until = source(spark, traffic, endingOffsets=from_there)
    assert Counter(rows(until)) == Counter(row for row in traffic.sent if row[:2] != (queue_id, offset))


def test_sql_is_evaluated_by_brokers(spark, traffic) -> None:
    traffic.send(12)
    frame = source(spark, traffic, sql="number BETWEEN 3 AND 5")
    assert sorted(bytes(row.body).split()[1] for row in frame.collect()) == [b"3", b"4", b"5"]


def test_a_stream_over_files_goes_on_where_its_checkpoint_ends(
    spark, traffic, tmp_path, mqframe_shared_cluster
) -> None:
    files = {"mode": "files", "path": str(mqframe_shared_cluster.directory / "broker-a"), "nameserver": None}
    traffic.send(10)
    assert sum(run_stream(spark, traffic, tmp_path, **files)) == 10
    traffic.send(7)
    assert run_stream(spark, traffic, tmp_path, maxOffsetsPerTrigger="4", **files) == [4, 3]
    assert run_stream(spark, traffic, tmp_path, **files) == []
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_a_stream_goes_on_where_its_checkpoint_ends(spark, traffic, tmp_path) -> None:
    traffic.send(10)
    assert sum(run_stream(spark, traffic, tmp_path)) == 10
    traffic.send(7)
    assert sum(run_stream(spark, traffic, tmp_path)) == 7
    assert run_stream(spark, traffic, tmp_path) == []
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_queues_that_are_added_are_read(spark, traffic, tmp_path, mqframe_shared_cluster) -> None:
    traffic.send(6)
    run_stream(spark, traffic, tmp_path)
    mqframe_shared_cluster.create_topic(traffic.topic, 5)
    traffic.send(20)
    run_stream(spark, traffic, tmp_path)
    assert {queue for queue, _, _ in traffic.sent} == {0, 1, 2, 3, 4}
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_micro_batches_keep_the_limit(spark, traffic, tmp_path) -> None:
    traffic.send(11)
    counts = run_stream(spark, traffic, tmp_path, maxOffsetsPerTrigger="4")
    assert counts == [4, 4, 3]
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_a_stream_from_the_end_sees_what_comes(spark, traffic, tmp_path) -> None:
    traffic.send(5)
    query = (
        source(spark, traffic, stream=True, startingOffsets="latest")
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        query.processAllAvailable()
        traffic.send(8)
        query.processAllAvailable()
    finally:
        query.stop()
    assert landed(spark, tmp_path) == Counter(traffic.sent[5:])


def test_a_batch_that_failed_comes_again_exactly(spark, traffic, tmp_path) -> None:
    traffic.send(12)
    batches: dict[int, list[Row]] = {}
    failing = True

    def take(frame, number) -> None:
        batches.setdefault(number, []).clear()
        batches[number] += rows(frame)
        if failing and number == 1:
            raise RuntimeError("the sink is away")

    def run() -> Any:
        query = (
            source(spark, traffic, stream=True, maxOffsetsPerTrigger="5")
            .writeStream.foreachBatch(take)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)

    with pytest.raises(Exception, match="the sink is away"):
        run()
    first = Counter(batches[1])
    traffic.send(5)
    failing = False
    run()
    assert Counter(batches[1]) == first
    assert Counter(row for batch in batches.values() for row in batch) == Counter(traffic.sent)


def test_a_stream_over_an_empty_topic_waits_for_its_first_message(spark, traffic, tmp_path) -> None:
    assert run_stream(spark, traffic, tmp_path) == []
    assert landed(spark, tmp_path) == Counter()
    traffic.send(7)
    assert sum(run_stream(spark, traffic, tmp_path)) == 7
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_a_stream_over_a_topic_that_is_not_there_says_so_and_can_be_started_again(
    spark, tmp_path, mqframe_shared_cluster
) -> None:
    traffic = Traffic(mqframe_shared_cluster, "comes-later-on")
    with pytest.raises(Exception, match=r"option topic = 'comes-later-on': .* knows no such topic"):
        run_stream(spark, traffic, tmp_path)
    mqframe_shared_cluster.create_topic(traffic.topic, 2)
    traffic.send(5)
    assert sum(run_stream(spark, traffic, tmp_path)) == 5
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_a_pattern_that_no_topic_matches_yet_reads_those_that_come(
    spark, tmp_path, mqframe_shared_cluster
) -> None:
    traffic = Traffic(mqframe_shared_cluster, "later-matched")
    pattern = {"topic": None, "topicPattern": "later-ma.*"}
    assert rows(source(spark, traffic, **pattern)) == []
    assert run_stream(spark, traffic, tmp_path, **pattern) == []
    mqframe_shared_cluster.create_topic(traffic.topic, 2)
    traffic.send(6)
    assert Counter(rows(source(spark, traffic, **pattern))) == Counter(traffic.sent)
    # Queues that are new are entered in a micro-batch without rows, and read in the next.
    assert sum(run_stream(spark, traffic, tmp_path, **pattern)) == 6
    assert landed(spark, tmp_path) == Counter(traffic.sent)


def test_a_plan_shows_what_is_read_and_progress_where_it_is(spark, traffic) -> None:
    """Spark prunes no columns of Python sources and takes no description: the option and the offsets tell."""

    def scanned(frame) -> str:
        plan = frame._jdf.queryExecution().executedPlan().toString()
        return re.sub(r"#\d+L?", "", re.search(r"BatchScan (.*?\])", plan)[1])

    traffic.send(3)
    assert scanned(source(spark, traffic, columns="tags,queue_offset")) == "mqframe[tags, queue_offset]"
    every = ", ".join(source(spark, traffic).columns)
    assert scanned(source(spark, traffic).select("tags")) in (f"mqframe[{every}]", "mqframe[tags]")
    stream = source(spark, traffic, stream=True).writeStream.format("noop").trigger(availableNow=True)
    query = stream.start()
    assert query.awaitTermination(120)
    (reported,) = query.lastProgress.sources
    ends = {f"broker-a/{queue}": sum(row[0] == queue for row in traffic.sent) for queue in range(3)}
    assert json.loads(reported.endOffset) == json.loads(reported.latestOffset) == {traffic.topic: ends}


def test_pandas_has_the_rows_of_a_topic(spark, traffic) -> None:
    traffic.send(9)
    table = source(spark, traffic).toPandas().sort_values(["queue_id", "queue_offset"])
    found = zip(table.queue_id, table.queue_offset, map(bytes, table.body), strict=True)
    assert Counter(found) == Counter(traffic.sent)
    assert str(table.queue_offset.dtype) == "int64"
    assert [str(table[name].dtype)[:10] for name in ("born_timestamp", "store_timestamp")] == [
        "datetime64"
    ] * 2
    properties = dict(table.properties.iloc[0])
    assert (properties["word"], properties["TAGS"]) == ("größer €", table.tags.iloc[0])


class Lake:
    """Registers the dispatcher with options of its own under the name "lake"."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @hookimpl
    def register_dispatchers(self) -> Any:
        options = ParquetDispatcher.Options(path=self._path, roll_rows=4, roll_seconds=0.1)
        return {"lake": lambda: ParquetDispatcher(options)}


async def caught_up(cluster: Cluster) -> None:
    async with asyncio.timeout(120):
        while any(lag.size_bytes for lag in cluster.broker.store.lags(count=False)):
            await asyncio.sleep(0.01)


def test_spark_reads_what_the_dispatcher_wrote(spark, tmp_path) -> None:
    plugins = PluginManager()
    plugins.register(Lake(tmp_path / "lake"))
    with Cluster(broker={"dispatchers": ("lake",)}, plugins=plugins) as cluster:
        cluster.create_topic("orders", 2)
        traffic = Traffic(cluster, "orders")
        traffic.send(25)
        cluster.restart_broker()
        traffic.send(8)
        cluster.run(caught_up(cluster))
    frame = spark.read.parquet(str(tmp_path / "lake" / "orders"))
    assert Counter(rows(frame)) == Counter(traffic.sent)
    assert all(row.day == row.store_timestamp.date() for row in frame.collect())
