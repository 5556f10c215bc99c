"""Every option of the source in a real Spark; cases are gathered into few jobs, as each costs a second."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing.cluster import Cluster
from pyspark.sql import functions as f

from mqframe import Admin, Message, MessageQueue, Producer, Puller

Row = tuple[str, str, int, int, bytes]
QUEUES = 2


class System:
    """Two brokers, and what was sent to them: topics `one` and `two`, by queue and offset."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.nameserver = cluster.nameserver
        self.rows: list[Row] = []
        self.stored: dict[Row, int] = {}

    def send(self, topic: str, count: int, size: int = 10) -> None:
        """`count` messages to each queue of `topic`, on each broker; tags go round."""
        with (
            Producer(group="sender", nameserver=self.nameserver) as producer,
            Puller(nameserver=self.nameserver) as puller,
        ):
            queues = puller.queues(topic)
            for number in range(count):
                for queue in queues:
                    body = (b"%s %d " % (topic.encode(), number)).ljust(size, b".")
                    message = Message(topic, body, tag=f"tag{number % 3}", properties={"n": str(number)})
                    sent = producer.send(message, queue=queue)
                    row = (topic, queue.broker_name, queue.queue_id, sent.queue_offset, body)
                    self.rows.append(row)

    def of(self, *topics: str) -> list[Row]:
        return [row for row in self.rows if row[0] in topics]

    def folder(self, broker: str) -> Path:
        return self.cluster.directory / broker

    def commit(self, group: str, offsets: dict[MessageQueue, int]) -> None:
        with (
            Puller(group, nameserver=self.nameserver) as puller,
            Admin(nameserver=self.nameserver) as admin,
        ):
            admin.groups.create(group)
            for queue, offset in offsets.items():
                puller.commit(queue, offset)


@pytest.fixture(scope="module")
def system() -> Iterator[System]:
    with Cluster(2) as cluster:
        made = System(cluster)
        for topic in ("one", "two"):
            cluster.create_topic(topic, QUEUES)
            made.send(topic, 10)
        yield made


def batch(spark, system: System, **options: str) -> Any:
    given = {"nameserver": system.nameserver, "topic": "one", **options}
    chosen = {name: value for name, value in given.items() if value}
    return spark.read.format("mqframe").options(**chosen).load()


def rows_of(frame: Any) -> Counter[Row]:
    found = frame.select("topic", "broker", "queue_id", "queue_offset", "body").collect()
    return Counter((*row[:4], bytes(row.body)) for row in found)


def check(spark, system: System, cases: dict[str, tuple[dict[str, str], Sequence[Row]]]) -> None:
    """Each case reads exactly its rows; all in one job."""
    frames = [
        batch(spark, system, **options)
        .select("topic", "broker", "queue_id", "queue_offset", "body")
        .withColumn("case", f.lit(name))
        for name, (options, _) in cases.items()
    ]
    found: dict[str, Counter[Row]] = {name: Counter() for name in cases}
    for row in reduce(lambda left, right: left.union(right), frames).collect():
        found[row.case][(*row[:4], bytes(row.body))] += 1
    for name, (_, expected) in cases.items():
        assert found[name] == Counter(expected), name


def test_where_and_what_to_read(spark, system) -> None:
    files = {"mode": "files", "nameserver": ""}
    both = ",".join(f"{name}={system.folder(name)}" for name in ("broker-a", "broker-b"))
    one, all_of = system.of("one"), system.of("one", "two")
    on_a = [row for row in one if row[1] == "broker-a"]
    check(
        spark,
        system,
        {
            "one topic": ({}, one),
            "topics": ({"topic": "", "topics": "two, one"}, all_of),
            "pattern": ({"topic": "", "topicPattern": "o.e"}, one),
            "pattern of all": ({"topic": "", "topicPattern": ".*"}, all_of),
            "several name servers": ({"nameserver": f"127.0.0.1:1;{system.nameserver}"}, one),
            "files of one store": ({**files, "path": str(system.folder("broker-a"))}, on_a),
            "files of two": ({**files, "path": both}, one),
            "files, topics": ({**files, "path": both, "topic": "", "topics": "one,two"}, all_of),
            "files, pattern": ({**files, "path": both, "topic": "", "topicPattern": "t.o|one"}, all_of),
        },
    )


def test_tags_and_expressions_choose(spark, system) -> None:
    one = system.of("one")

    def numbered(*numbers: int) -> list[Row]:
        return [row for row in one if row[3] in numbers]

    path = f"broker-a={system.folder('broker-a')},broker-b={system.folder('broker-b')}"
    check(
        spark,
        system,
        {
            "a tag": ({"tags": "tag1"}, numbered(1, 4, 7)),
            "two tags": ({"tags": "tag0 || tag2"}, numbered(0, 2, 3, 5, 6, 8, 9)),
            "all tags": ({"tags": "*"}, one),
            "no such tag": ({"tags": "none"}, []),
            "sql": ({"sql": "n BETWEEN 3 AND 4 OR TAGS = 'tag2'"}, numbered(2, 3, 4, 5, 8)),
            "tags of files": (
                {"mode": "files", "nameserver": "", "path": path, "tags": "tag1"},
                numbered(1, 4, 7),
            ),
        },
    )


def from_to(
    system: System, starts: dict[tuple[str, int], int], ends: dict[tuple[str, int], int]
) -> list[Row]:
    return [
        row
        for row in system.of("one")
        if starts.get(row[1:3], 0) <= row[3] < ends.get(row[1:3], 1 << 60)
    ]  # fmt: skip


def test_offsets_in_all_their_forms(spark, system) -> None:
    a0, b1 = ("broker-a", 0), ("broker-b", 1)
    after = {a0: 4, b1: 10}
    offsets = json.dumps({"one": {"broker-a/0": 4, "broker-b/1": -1}})
    until = json.dumps({"one": {"broker-a/0": 8, "broker-b/1": -2}})
    # A queue that a group has no offset of is read as if nothing had been said of it.
    system.commit("reached", {MessageQueue("one", "broker-a", 0): 7, MessageQueue("one", "broker-b", 1): 2})
    store = f"broker-a={system.folder('broker-a')},broker-b={system.folder('broker-b')}"
    files = {"mode": "files", "nameserver": "", "path": store}
    cases = {}
    for kind, where in (("brokers", {}), ("files", files)):
        cases |= {
            f"{kind}: words": ({**where, "startingOffsets": "earliest", "endingOffsets": "latest"},
                               system.of("one")),
            f"{kind}: the end": ({**where, "startingOffsets": "latest"}, []),
            f"{kind}: the beginning": ({**where, "endingOffsets": "earliest"}, []),
            f"{kind}: JSON from": ({**where, "startingOffsets": offsets}, from_to(system, after, {})),
            f"{kind}: JSON to": ({**where, "endingOffsets": until}, from_to(system, {}, {a0: 8, b1: 0})),
            f"{kind}: JSON from, to": ({**where, "startingOffsets": json.dumps({"one": {"broker-a/0": 4}}),
                                        "endingOffsets": until}, from_to(system, {a0: 4}, {a0: 8, b1: 0})),
        }  # fmt: skip
    reached = {a0: 7, b1: 2}
    cases |= {
        "group from": ({"startingOffsets": "group:reached"}, from_to(system, reached, {})),
        "group to": ({"endingOffsets": "group:reached"}, from_to(system, {}, reached)),
    }
    check(spark, system, cases)


def test_times_stand_for_offsets(spark, system) -> None:
    """Store times are those that a full read tells; messages of one millisecond go together."""
    frame = batch(spark, system).withColumn("ms", f.unix_millis("store_timestamp"))
    times = {
        (row.broker, row.queue_id, row.queue_offset): row.ms
        for row in frame.select("broker", "queue_id", "queue_offset", "ms").collect()
    }
    middle = sorted(times.values())[len(times) // 2]
    later = [row for row in system.of("one") if times[row[1:4]] >= middle]
    before = [row for row in system.of("one") if times[row[1:4]] < middle]
    moment = datetime.fromtimestamp(middle / 1000, UTC).isoformat(timespec="milliseconds")
    store = f"broker-a={system.folder('broker-a')},broker-b={system.folder('broker-b')}"
    files = {"mode": "files", "nameserver": "", "path": store}
    check(
        spark,
        system,
        {
            "from": ({"startingTimestamp": str(middle)}, later),
            "to": ({"endingTimestamp": moment}, before),
            "files, from": ({**files, "startingTimestamp": moment}, later),
            "files, to": ({**files, "endingTimestamp": str(middle)}, before),
            "the far future": ({"startingTimestamp": "2100-01-01", "timeZone": "UTC"}, []),
            "the past": ({"endingTimestamp": "1980-01-01T00:00Z"}, []),
        },
    )


def test_partitions_columns_and_the_group_that_asks(spark, system) -> None:
    assert batch(spark, system).rdd.getNumPartitions() == 4
    frame = batch(spark, system, minPartitions="9", group="auditors", columns="queue_offset,broker,queue_id")
    assert 9 <= frame.rdd.getNumPartitions() <= 12
    assert frame.columns == ["queue_offset", "broker", "queue_id"]
    assert Counter(tuple(row) for row in frame.collect()) == Counter(
        (row[3], row[1], row[2]) for row in system.of("one")
    )
    with Admin(nameserver=system.nameserver) as admin:
        assert "auditors" in admin.groups.configs()


@pytest.fixture
def cleaned(mqframe_cluster_factory, request) -> tuple[System, dict[tuple[str, int], int]]:
    """A broker whose oldest log files went, and the oldest offset of each queue."""
    cluster = mqframe_cluster_factory(store={"commit_log_file_bytes": 1 << 16, "keep_hours": 0})
    made = System(cluster)
    cluster.create_topic("one", QUEUES)
    made.send("one", 60, size=2000)

    async def clean() -> list[Path]:
        return cluster.broker.store.clean(any_hour=True)

    assert cluster.run(clean())
    with Puller(nameserver=cluster.nameserver) as puller:
        low = {(q.broker_name, q.queue_id): puller.min_offset(q) for q in puller.queues("one")}
    assert 0 < min(low.values()) <= max(low.values()) < 60
    return made, low


def test_what_retention_removed_fails_or_is_skipped(spark, cleaned, tmp_path) -> None:
    system, low = cleaned
    kept = [row for row in system.of("one") if row[3] >= low[row[1:3]]]
    assert 0 < len(kept) < len(system.of("one"))
    early = {"startingOffsets": json.dumps({"one": {"broker-a/0": 0, "broker-a/1": 0}})}
    files = {"mode": "files", "nameserver": "", "path": str(system.folder("broker-a")), **early}
    for options in (early, files):
        with pytest.raises(Exception, match=r"DataLoss") as problem:
            batch(spark, system, **options).count()
        lost = "topic one, broker broker-a, queue 0: offset 0 is needed, but the oldest that is kept is"
        assert f"{lost} {low['broker-a', 0]}" in str(problem.value)
    lax = {**early, "failOnDataLoss": "false"}
    check(spark, system, {"brokers": (lax, kept), "files": ({**files, "failOnDataLoss": "FALSE"}, kept)})

    # A stream whose checkpoint is before what is kept.
    def run(**options: str) -> Any:
        given = {"nameserver": system.nameserver, "topic": "one", **options}
        stream = spark.readStream.format("mqframe").options(**given).load()
        query = (
            stream.writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        return query

    with pytest.raises(Exception, match=r"oldest that is kept is"):
        run(**early)
    run(**lax)
    assert rows_of(spark.read.parquet(str(tmp_path / "out"))) == Counter(kept)


def progress(system: System, group: str) -> dict[tuple[str, int], int]:
    with Admin(nameserver=system.nameserver) as admin:
        stats = admin.groups.stats(group, "one")
    return {(queue.broker_name, queue.queue_id): each.consumer_offset for queue, each in stats.items()}


@pytest.mark.parametrize("mode", ["broker", "files"])
def test_a_group_is_told_of_all_that_was_read_and_never_back(spark, system, tmp_path, mode) -> None:
    group = f"lag_{mode}"
    if mode == "broker":  # the other one is a group that brokers do not know yet
        system.commit(group, {MessageQueue("one", "broker-b", 1): 10})
    where = {"topic": "one", "nameserver": system.nameserver}
    if mode == "files":
        path = f"broker-a={system.folder('broker-a')},broker-b={system.folder('broker-b')}"
        where |= {"mode": "files", "path": path}

    def run(**options: str) -> list[int]:
        query = (
            spark.readStream.format("mqframe")
            .options(**where, **options)
            .load()
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        return [each.numInputRows for each in query.recentProgress if each.numInputRows]

    early = json.dumps({"one": {"broker-a/0": 3}})
    counts = run(commitToGroup=group, startingOffsets=early, maxBytesPerTrigger="3000")
    # Records are 180 bytes or so: the bytes allow more than one batch and less than one row each.
    assert len(counts) > 1
    assert sum(counts) == 37
    assert rows_of(spark.read.parquet(str(tmp_path / "out"))) == Counter(
        from_to(system, {("broker-a", 0): 3}, {})
    )
    everything = {(broker, queue): 10 for broker in ("broker-a", "broker-b") for queue in range(QUEUES)}
    assert progress(system, group) == everything


def test_a_stream_begins_where_it_is_told(spark, system, tmp_path) -> None:
    """Several streams at once: each writes what its bound leaves."""
    system.commit("streamed", {MessageQueue("one", "broker-a", 0): 6})
    bounds = {
        "json": {"startingOffsets": json.dumps({"one": {"broker-a/0": 9, "broker-b/0": -1}})},
        "group": {"startingOffsets": "group:streamed", "minPartitions": "7"},
        "time": {"startingTimestamp": "2100-01-01T00:00:00Z"},
    }
    queries = [
        spark.readStream.format("mqframe")
        .options(nameserver=system.nameserver, topic="one", **options)
        .load()
        .writeStream.format("parquet")
        .option("path", str(tmp_path / name))
        .option("checkpointLocation", str(tmp_path / f"{name}.checkpoint"))
        .trigger(availableNow=True)
        .start()
        for name, options in bounds.items()
    ]
    for query in queries:
        assert query.awaitTermination(120)
        assert query.exception() is None
    a0, b0 = ("broker-a", 0), ("broker-b", 0)
    expected = {"json": from_to(system, {a0: 9, b0: 10}, {}), "group": from_to(system, {a0: 6}, {})}
    for name, rows in expected.items():
        assert rows_of(spark.read.parquet(str(tmp_path / name))) == Counter(rows), name
    assert spark.read.parquet(str(tmp_path / "time")).count() == 0


def test_what_is_wrong_is_said_with_option_and_value(spark, system, tmp_path) -> None:
    """Before a task runs, and at the end of what a PySpark user sees, without Java's stack before it."""
    system.commit("ahead", {MessageQueue("two", "broker-a", 0): 10})
    store = str(system.folder("broker-a"))
    files = {"mode": "files", "nameserver": "", "path": store}
    beyond = json.dumps({"one": {"broker-a/0": 99}})
    for options, said in (
        ({"tags": "a", "sql": "b = 1"}, "options sql and tags contradict each other"),
        ({**files, "sql": "n = 1"}, "option sql = 'n = 1': only brokers evaluate it"),
        ({**files, "path": str(tmp_path)}, f"option path = '{tmp_path}': there is no store"),
        ({**files, "topic": "nowhere"}, f"option topic = 'nowhere': no queue of it is in {store}"),
        ({**files, "startingOffsets": beyond}, f"option startingOffsets = '{beyond}': topic one, queue"),
        (
            {"endingOffsets": beyond},
            f"option endingOffsets = '{beyond}': topic one, queue broker-a/0: offset 99",
        ),
        ({"startingOffsets": "latest", "endingOffsets": "earliest"}, "'earliest' contradict each other"),
        (
            {"startingOffsets": "group:ahead", "endingOffsets": "earliest", "topic": "two"},
            "options startingOffsets = 'group:ahead' and endingOffsets = 'earliest' contradict each other",
        ),
        ({"commitToGroup": "g"}, "option commitToGroup = 'g': only streams have it"),
    ):
        with pytest.raises(Exception, match=r"mqframe\.core\.errors\.") as problem:
            batch(spark, system, **options).count()
        told = str(problem.value)
        assert said in told
        assert "org.apache.spark" not in told.split(said)[0]
    with pytest.raises(Exception, match="option endingOffsets = 'latest': only a batch, or a stream with"):
        spark.readStream.format("mqframe").options(
            nameserver=system.nameserver, topic="one", endingOffsets="latest"
        ).load().writeStream.format("noop").option(
            "checkpointLocation", str(tmp_path)
        ).start().awaitTermination()


def test_a_damaged_record_is_named_by_its_place(spark, store) -> None:
    for _ in range(5):
        store.add()
    log = store.folder / "commitlog" / f"{0:020d}"
    frame = spark.read.format("mqframe").options(mode="files", path=str(store.folder), topic="t").load()
    place = frame.orderBy("queue_offset").collect()[2].commitlog_offset
    with log.open("r+b") as file:
        file.seek(place)
        file.write(bytes(8))
    with pytest.raises(Exception, match=f"the record at commit-log offset {place} has another size than"):
        frame.collect()
