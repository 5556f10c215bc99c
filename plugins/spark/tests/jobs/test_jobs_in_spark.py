"""Each job once in a real Spark, over a real broker; contents are compared."""

import json
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.jobs import (
    Drain,
    Pipeline,
    Replay,
    Report,
    Republish,
    Search,
    StopRequest,
    drain,
    open_letters,
    replay,
    report,
    republish_dead_letters,
    run_pipeline,
    search,
)
from mqframe_spark.jobs.checkpoints import committed_offsets
from mqframe_spark.jobs.progress import Progress

from mqframe import (
    Admin,
    ConsumeResult,
    DeadLetter,
    Message,
    MessageQueue,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
)
from mqframe.core.errors import FixError, GiveUpError, SettingError


class Place:
    """A cluster, and names of this test's own."""

    def __init__(self, cluster: Any, name: str) -> None:
        self.cluster = cluster
        self.nameserver = cluster.nameserver
        self.source = {"nameserver": cluster.nameserver}
        self.name = name.removeprefix("test_")[:60]

    def topic(self, suffix: str = "", queues: int = 2) -> str:
        topic = f"{self.name}{suffix}"
        self.cluster.create_topic(topic, queues)
        return topic

    def send(self, topic: str, numbers: range, queues: int = 2) -> None:
        """Number n goes to queue n % queues, with the customer n % 5."""
        with Producer("p", nameserver=self.nameserver) as producer:
            for number in numbers:
                message = Message(
                    topic,
                    b"%d" % number,
                    tag=f"tag{number % 3}",
                    keys=["all", f"k{number}"],
                    properties={"number": str(number), "customer": f"c{number % queues}{number % 5}"},
                    flag=number,
                )
                producer.send(message, queue=MessageQueue(topic, "broker-a", number % queues))

    def read(self, topic: str) -> dict[int, list[ReceivedMessage]]:
        """All messages of a topic, by queue."""
        found: dict[int, list[ReceivedMessage]] = {}
        with Puller(self.nameserver, "reader") as puller:
            for queue in puller.queues(topic):
                at, end = puller.min_offset(queue), puller.max_offset(queue)
                messages = found.setdefault(queue.queue_id, [])
                while at < end:
                    result = puller.pull(queue, at, 32)
                    messages += result.messages
                    at = result.next_offset
        return found

    def all(self, topic: str) -> list[ReceivedMessage]:
        return [message for found in self.read(topic).values() for message in found]

    def offsets(self, group: str, topic: str) -> list[int | None]:
        with Puller(self.nameserver, group) as puller:
            return [puller.committed(queue) for queue in sorted(puller.queues(topic))]

    def group(self, name: str, topic: str, *offsets: int) -> str:
        with Admin(nameserver=self.nameserver) as admin:
            admin.create_group(name)
        with Puller(self.nameserver, name) as puller:
            for queue_id, offset in enumerate(offsets):
                puller.commit(MessageQueue(topic, "broker-a", queue_id), offset)
        return name


@pytest.fixture
def place(mqframe_shared_cluster, request) -> Place:
    return Place(mqframe_shared_cluster, request.node.name.partition("[")[0])


def numbers(found: dict[int, list[ReceivedMessage]]) -> Counter[int]:
    return Counter(int(message.body) for messages in found.values() for message in messages)


def pipeline(place: Place, topic: str, folder: Path, **change: Any) -> Pipeline:
    return Pipeline(
        **{
            "source": {**place.source, "topic": topic, "maxOffsetsPerTrigger": "8"},
            "name": place.name,
            "checkpoint": str(folder / "checkpoint"),
            **change,
        }
    )


def test_a_pipeline_may_return_a_frame_a_writer_or_a_query(spark, place, tmp_path) -> None:
    topic, out = place.topic(), str(tmp_path / "out")
    place.send(topic, range(20))
    told: list[Progress] = []

    def frame(stream: Any) -> Any:
        return stream.selectExpr("cast(cast(body as string) as int) as n").where("n % 2 = 0")

    options = pipeline(place, topic, tmp_path, sink="parquet", sink_options={"path": out})
    totals = run_pipeline(spark, frame, options, tell=told.append)
    assert (totals.rows, totals.backlog) == (20, 0)
    assert [(each.rows, each.backlog) for each in told] == [(8, 12), (8, 4), (4, 0)]
    assert Counter(row.n for row in spark.read.parquet(out).collect()) == Counter(range(0, 20, 2))

    place.send(topic, range(20, 23))
    totals = run_pipeline(
        spark, lambda stream: frame(stream).writeStream.format("parquet").option("path", out), options
    )
    assert totals.rows == 3, "it did not go on where it was"
    assert Counter(row.n for row in spark.read.parquet(out).collect()) == Counter(range(0, 23, 2))

    place.send(topic, range(23, 25))
    seen: list[int] = []

    def of(batch: Any) -> list[int]:
        return [row.n for row in batch.collect()]

    def started(stream: Any) -> Any:
        writer = frame(stream).writeStream.foreachBatch(
            lambda batch, _: seen.extend(r.n for r in batch.collect())
        )
        own = str(tmp_path / "own")
        return writer.option("checkpointLocation", own).trigger(availableNow=True).start()

    run_pipeline(spark, started, options)
    assert Counter(seen) == Counter(range(0, 25, 2))


def test_a_pipeline_that_goes_on_stops_when_it_is_asked(spark, place, tmp_path) -> None:
    topic, out = place.topic(), str(tmp_path / "out")
    place.send(topic, range(6))
    stop = StopRequest()
    options = pipeline(place, topic, tmp_path, sink="parquet", sink_options={"path": out}, every_seconds=0.1)
    totals = run_pipeline(
        spark, lambda stream: stream.select("body"), options, tell=lambda progress: stop.ask(), stop=stop
    )
    assert totals.stopped
    assert totals.rows == 6
    assert Counter(int(row.body) for row in spark.read.parquet(out).collect()) == Counter(range(6))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.filterwarnings("ignore:Cannot infer the eval type:UserWarning")
def test_what_is_wrong_with_a_pipeline_is_one_line(spark, place, tmp_path) -> None:
    topic = place.topic()
    place.send(topic, range(2))

    def fails(function: Any, **change: Any) -> str:
        with pytest.raises((FixError, GiveUpError)) as problem:
            run_pipeline(spark, function, pipeline(place, topic, tmp_path, **change))
        assert "\n" not in str(problem.value)
        return str(problem.value)

    def broken(value: str) -> int:
        return 1 // 0

    def in_a_task(stream: Any) -> Any:
        from pyspark.sql import functions as f

        return stream.select(f.udf(broken, "int")("topic"))

    assert "`colour` cannot be resolved" in fails(lambda stream: stream.where("colour = 1"))
    assert "Invalid streaming output mode: append" in fails(lambda stream: stream.groupBy("tags").count())
    assert "Failed to find the data source: konsole" in fails(lambda stream: stream, sink="konsole")
    assert "ZeroDivisionError: integer division or modulo by zero (test_jobs_in_spark.py" in fails(
        in_a_task, sink="noop"
    )
    assert "is no stream" in fails(lambda stream: spark.range(3))


@pytest.mark.parametrize("exactly_once", [False, True], ids=["at_least_once", "exactly_once"])
def test_a_drain_moves_a_groups_backlog_and_the_group(spark, place, tmp_path, exactly_once) -> None:
    topic = place.topic(f"-{exactly_once}")
    place.send(topic, range(40))
    group = place.group(f"drained-{exactly_once}", topic, 3, 0)
    job = Drain(
        source=place.source, topic=topic, into=f"{topic}-wide", checkpoint=str(tmp_path / "cp"), group=group,
        queues=8, sharding_key="properties['customer']", exactly_once=exactly_once, rows_at_once=10,
    )  # fmt: skip
    totals = drain(spark, job)
    assert (totals.rows, totals.batches, totals.backlog) == (37, 4, 0)
    found = place.read(job.into)
    # Of the queue 0, which holds the even numbers, the group had consumed three.
    backlog = [*range(1, 40, 2), *range(6, 40, 2)]
    assert len(found) == 8
    assert numbers(found) == Counter(backlog)
    ids = {
        message.body: message.message_id for messages in place.read(topic).values() for message in messages
    }
    by_customer: dict[str, list[int]] = {}
    for queue_id, messages in found.items():
        for message in messages:
            number = int(message.body)
            by_customer.setdefault(message.properties["customer"], []).append(number)
            assert (message.tag, message.keys, message.flag) == (
                f"tag{number % 3}",
                ["all", f"k{number}"],
                number,
            ), queue_id
            assert message.properties["number"] == str(number)
            assert message.properties["IDEMPOTENCE_KEY"] == ids[message.body] != message.message_id
    assert {customer: sorted(found) for customer, found in by_customer.items()} == by_customer
    assert len(by_customer) == 10
    assert place.offsets(group, topic) == [20, 20]
    assert committed_offsets(spark, job.checkpoint) == {topic: {"broker-a/0": 20, "broker-a/1": 20}}

    # The group consumes by itself for a while, then falls behind again.
    place.send(topic, range(40, 46))
    with Puller(place.nameserver, group) as puller:
        puller.commit(MessageQueue(topic, "broker-a", 0), 22)
    drain(spark, job)
    assert numbers(place.read(job.into)) == Counter([*backlog, 41, 43, 45, 44])
    assert place.offsets(group, topic) == [23, 23]
    assert drain(spark, job).rows == 0


def test_a_drain_that_keeps_offsets_is_a_copy(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into", 4)
    place.send(topic, range(8))
    group = place.group("stays", topic, 1, 2)
    job = Drain(
        source=place.source, topic=topic, into=into, checkpoint=str(tmp_path / "cp"), group=group,
        keep_offsets=True, exactly_once=False,
    )  # fmt: skip
    drain(spark, job)
    assert numbers(place.read(into)) == Counter([2, 4, 6, 5, 7])
    assert place.offsets(group, topic) == [1, 2]


def test_a_replay_copies_what_was_stored_in_between_once(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into", 3)
    place.send(topic, range(4))
    time.sleep(0.01)
    begin = datetime.now(UTC).isoformat()
    place.send(topic, range(4, 12))
    end = round(time.time() * 1000) + 1
    time.sleep(0.01)
    place.send(topic, range(12, 30))
    job = Replay(
        source=place.source, topic=topic, into=into, begin=begin, end=str(end),
        checkpoint=str(tmp_path / "cp"), exactly_once=False, rows_at_once=5,
    )  # fmt: skip
    totals = replay(spark, job)
    assert numbers(place.read(into)) == Counter(range(4, 12))
    # It stops when every queue is past the end, and does not read on to the end of the topic.
    assert totals.rows < 26
    replay(spark, job)
    assert numbers(place.read(into)) == Counter(range(4, 12))
    [message] = [each for each in place.all(into) if each.body == b"7"]
    assert (message.tag, message.keys, message.flag) == ("tag1", ["all", "k7"], 7)


def letters(admin: Admin, group: str) -> list[DeadLetter]:
    admin.open_dead_letters(group)
    return admin.dead_letters(group)


def given_up(place: Place, group: str, *topics: str) -> None:
    """The group gives up all that is in `topics`."""
    expected = {
        message.message_id for topic in topics for all_of in place.read(topic).values() for message in all_of
    }
    done = threading.Semaphore(0)

    def give_up(messages: Any, context: Any) -> ConsumeResult:
        context.delay_level_when_next_consume = -1
        done.release()
        return ConsumeResult.RECONSUME_LATER

    consumer = PushConsumer(group, nameserver=place.nameserver, consume_from="first")
    for topic in topics:
        consumer.subscribe(topic, "*", give_up, batch_max=1)
    with consumer, Admin(nameserver=place.nameserver) as admin:
        for _ in expected:
            assert done.acquire(timeout=30)
        deadline = time.monotonic() + 30
        while {each.unique_key for each in letters(admin, group)} != expected:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        admin.close_dead_letters(group)


def test_dead_letters_go_to_where_they_came_from_once(spark, place, tmp_path) -> None:
    first, second = place.topic("-1"), place.topic("-2")
    place.send(first, range(6))
    place.send(second, range(6, 9))
    group = "gives-up-in-spark"
    given_up(place, group, first, second)
    job = Republish(
        source=place.source,
        group=group,
        where=f"original_topic = '{second}' or (tags = 'tag1' and cast(text as int) < 4)",
        commit_path=str(tmp_path / "commits"),
    )
    assert open_letters(job) == ["broker-a"]
    assert open_letters(job) == []
    wanted = {first: 1, second: 3}
    dry = republish_dead_letters(spark, job, dry_run=True)
    assert (dry.dead_letters, dry.chosen, dry.sent_before, dict(dry.topics)) == (9, 4, 0, wanted)
    assert sum(numbers(place.read(first)).values()) == 6, "a dry run wrote"
    done = republish_dead_letters(spark, job)
    assert done == dry
    assert numbers(place.read(first)) == Counter([*range(6), 1])
    assert numbers(place.read(second)) == Counter([*range(6, 9)] * 2)

    marked = [each for each in place.all(first) if "MQFRAME_DEAD_LETTER" in each.properties]
    assert [(m.body, m.tag, m.keys, m.flag) for m in marked] == [(b"1", "tag1", ["all", "k1"], 1)]
    with Admin(nameserver=place.nameserver) as admin:
        [letter] = [each for each in admin.dead_letters(group) if each.message.body == b"1"]
    properties = marked[0].properties
    assert properties["MQFRAME_DEAD_LETTER"] == letter.mark
    assert properties["IDEMPOTENCE_KEY"] == letter.unique_key
    assert properties["customer"] == "c11"
    gone = {
        "RETRY_TOPIC",
        "RECONSUME_TIME",
        "MAX_RECONSUME_TIMES",
        "ORIGIN_MESSAGE_ID",
        "DELAY",
        "REAL_TOPIC",
    }
    assert not gone & set(properties)
    assert marked[0].reconsume_times == 0

    again = republish_dead_letters(spark, job)
    assert (again.chosen, again.sent_before, dict(again.topics)) == (4, 4, {})
    # What `mqframe dlq resend` sent counts as well.
    with Admin(nameserver=place.nameserver) as admin:
        [letter] = [each for each in admin.dead_letters(group) if each.message.body == b"5"]
        admin.resend_dead_letters([letter], to="topic")
    everything = republish_dead_letters(spark, Republish(source=place.source, group=group))
    assert (everything.chosen, everything.sent_before, dict(everything.topics)) == (9, 5, {first: 4})
    assert numbers(place.read(first)) == Counter([*range(6)] * 2)


def test_dead_letters_may_all_go_elsewhere_and_again(spark, place, tmp_path) -> None:
    topic, into = place.topic(), place.topic("-into")
    place.send(topic, range(3))
    group = "gives-up-elsewhere"
    given_up(place, group, topic)
    job = Republish(source=place.source, group=group, into=into, again=True)
    open_letters(job)
    for copies in (1, 2):
        assert republish_dead_letters(spark, job).topics == {into: 3}
        assert numbers(place.read(into)) == Counter([*range(3)] * copies)
    assert numbers(place.read(topic)) == Counter(range(3))
    with pytest.raises(FixError, match=r"--where 'colour = 1': .*`colour` cannot be resolved"):
        republish_dead_letters(spark, Republish(source=place.source, group=group, where="colour = 1"))
    with Admin(nameserver=place.nameserver) as admin:
        admin.delete_topic(topic)
    with pytest.raises(FixError, match=f"dead letters of {group} came from topic {topic}: no broker has"):
        republish_dead_letters(spark, Republish(source=place.source, group=group))


def test_a_report_counts_by_topic_queue_and_hour(spark, place) -> None:
    first, second = place.topic("-1"), place.topic("-2")
    place.send(first, range(10, 15))
    place.send(second, range(100, 103))
    source = {**place.source, "topics": f"{first},{second}"}

    def counted(by: str) -> list[Any]:
        keys = ("topic", "queue", "hour", "messages", "bytes")
        return [
            tuple(row[key] for key in keys if key in row)
            for row in report(spark, Report(source=source, by=by))
        ]

    assert counted("topic") == [(first, 5, 10), (second, 3, 9)]
    assert counted("queue") == [(first, 0, 3, 6), (first, 1, 2, 4), (second, 0, 2, 6), (second, 1, 1, 3)]
    stored = [message.store_timestamp for topic in (first, second) for message in place.all(topic)]
    hours = Counter(datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:00Z") for at in stored)
    by_hour: Counter[str] = Counter()
    for _, hour, messages, _ in counted("hour"):
        by_hour[hour] += messages
    assert by_hour == hours
    row = report(spark, Report(source=source))[0]
    seconds = (datetime.fromisoformat(row["last"]) - datetime.fromisoformat(row["first"])).total_seconds()
    if seconds:
        assert row["messages_per_second"] == pytest.approx(5 / seconds, rel=0.01)
    times = [message.store_timestamp for message in place.all(first)]
    assert row["first"] == datetime.fromtimestamp(min(times) / 1000, UTC).isoformat(timespec="milliseconds")


def test_a_search_finds_messages_in_a_stores_files(spark, place) -> None:
    topic = place.topic()
    place.send(topic, range(20))
    path = str(place.cluster.directory / "broker-a")
    source = {"mode": "files", "path": path, "topic": topic}

    def found(sql: str, **change: Any) -> Any:
        return search(spark, Search(**{"source": source, "sql": sql, **change}))

    hits = found("text like '1%' and properties['customer'] = 'c11'")
    assert sorted(row["text"] for row in hits.rows) == ["1", "11"]
    row = next(row for row in hits.rows if row["text"] == "11")
    [message] = [each for each in place.all(topic) if each.body == b"11"]
    assert {name: row[name] for name in ("topic", "queue_id", "queue_offset", "msg_id", "tags", "keys")} == {
        "topic": topic, "queue_id": 1, "queue_offset": 5, "msg_id": message.message_id, "tags": "tag2",
        "keys": "all k11",
    }  # fmt: skip
    assert row["properties"] == message.properties
    json.dumps(hits.rows)
    assert (len(found("true", limit=7).rows), found("true", limit=7).more) == (7, True)
    assert (len(found("true", limit=20).rows), found("true", limit=20).more) == (20, False)
    query = (
        "select tags, count(*) as n, max(cast(text as int)) as top from messages group by tags order by tags"
    )
    assert found(query).rows == [
        {"tags": "tag0", "n": 7, "top": 18},
        {"tags": "tag1", "n": 7, "top": 19},
        {"tags": "tag2", "n": 6, "top": 17},
    ]
    assert found("with m as (select * from messages where text = '3') select text from m").rows == [
        {"text": "3"}
    ]
    assert not any(table.name == "messages" for table in spark.catalog.listTables())
    for sql, said in (
        ("colour = 1", "`colour` cannot be resolved"),
        ("text = = 1", "Syntax error at or near '='"),
        ("select * from elsewhere", "`elsewhere` cannot be found"),
        ("drop table messages", "Syntax error"),
    ):
        with pytest.raises(FixError) as problem:
            found(sql)
        assert str(problem.value).startswith(f"--sql {sql!r}: ")
        assert said in str(problem.value)
        assert "\n" not in str(problem.value)


def test_a_search_through_brokers_heeds_times(spark, place) -> None:
    topic = place.topic()
    place.send(topic, range(3))
    time.sleep(0.01)
    middle = round(time.time() * 1000)
    place.send(topic, range(3, 5))
    source = {**place.source, "topic": topic, "startingTimestamp": str(middle)}
    rows = search(spark, Search(source=source, sql="select text from messages order by text")).rows
    assert rows == [{"text": "3"}, {"text": "4"}]
    with pytest.raises(SettingError, match="is empty"):
        search(spark, Search(source=source, sql=""))
