"""The sink in a real Spark, over a real broker."""

import os
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mqframe_spark.deduplication import drop_doubles
from mqframe_spark.retrying import retrying
from mqframe_spark.sink import writers
from mqframe_spark.sink.options import parse_sink_options
from mqframe_spark.writers import batch_writer
from mqframe_testing.cluster import Cluster
from pyspark.errors import PySparkException
from pyspark.sql import types as t
from pyspark.sql.streaming import StreamingQuery

from mqframe import Puller
from mqframe.core.errors import RetryError
from mqframe.core.messages.message import ReceivedMessage

SECONDS_MAX = 120


class Target:
    """A topic to write to."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.cluster = cluster
        self.topic = topic

    def options(self, **more: str) -> dict[str, str]:
        return {"nameserver": self.cluster.nameserver, "topic": self.topic, **more}

    def write(self, frame: Any, **more: str) -> None:
        frame.write.format("mqframe").mode("append").options(**self.options(**more)).save()

    def messages(self, topic: str = "") -> list[ReceivedMessage]:
        """All that it holds, queue by queue."""
        found: list[ReceivedMessage] = []
        with Puller(nameserver=self.cluster.nameserver) as puller:
            for queue in puller.queues(topic or self.topic):
                at, end = puller.min_offset(queue), puller.max_offset(queue)
                while at < end:
                    result = puller.pull(queue, at)
                    found += result.messages
                    at = result.next_offset
        return found

    def bodies(self, topic: str = "") -> Counter[bytes]:
        return Counter(message.body for message in self.messages(topic))


@pytest.fixture
def target(mqframe_shared_cluster, request) -> Target:
    topic = request.node.name.split("[")[0]
    mqframe_shared_cluster.create_topic(topic, 3)
    return Target(mqframe_shared_cluster, topic)


def numbered(first: int, end: int) -> Counter[bytes]:
    return Counter(b"body %d" % number for number in range(first, end))


def test_a_frame_becomes_messages(spark, target) -> None:
    frame = spark.range(0, 5000, 1, 2).selectExpr(
        "cast(concat('body ', id) as binary) as body",
        "concat('tag', id % 3) as tags",
        "array('all', concat('k', id)) as keys",
        "map('number', cast(id as string)) as properties",
        "if(id % 10 = 0, null, concat('customer', id % 7)) as sharding_key",
        "cast(id as int) as flag",
    )
    target.write(frame, idempotenceKeys="true")
    found = target.messages()
    assert Counter(message.body for message in found) == numbered(0, 5000)
    by_key: dict[Any, list[Any]] = defaultdict(list)
    for message in found:
        number = int(message.body[5:])
        assert (message.tag, message.keys) == (f"tag{number % 3}", ["all", f"k{number}"])
        assert message.properties["number"] == str(number)
        assert message.flag == number
        if number % 10:
            place = (message.queue_id, message.queue_offset, number)
            by_key[number % 7, number >= 2500].append(place)  # the second half is another partition
    assert len(by_key) == 14
    for rows in by_key.values():
        assert len({queue for queue, _, _ in rows}) == 1
        numbers = [number for _, _, number in sorted(rows)]
        assert numbers == sorted(numbers)
    assert len({message.message_id for message in found}) == 5000
    assert len({message.properties["IDEMPOTENCE_KEY"] for message in found}) == 5000


def test_topics_by_row_large_bodies_and_delays(spark, target) -> None:
    target.cluster.create_topic("by-row", 2)
    frame = spark.range(40).selectExpr(
        "repeat(concat('body ', id, ' '), if(id % 2 = 0, 1, 1000)) as value",
        f"if(id < 10, 'by-row', '{target.topic}') as topic",
        "cast(if(id = 39, 3600, null) as int) as delay_seconds",
        "if(id = 38, timestamp'2100-01-01 00:00:00', null) as deliver_at",
        "cast(if(id = 37, 18, null) as int) as delay_level",
    )
    with pytest.raises(PySparkException, match=r"row 38: .*topic test_topics.* further away than"):
        frame.coalesce(1).write.format("mqframe").mode("append").options(
            nameserver=target.cluster.nameserver
        ).save()
    fine = frame.where("id != 38").coalesce(1)
    before = target.bodies() + target.bodies("by-row")
    fine.write.format("mqframe").mode("append").options(nameserver=target.cluster.nameserver).save()
    after = target.bodies() + target.bodies("by-row")
    expected = [b"body %d " % number * (1000 if number % 2 else 1) for number in range(37)]
    assert after - before == Counter(expected)
    assert set(target.bodies("by-row")) == set(expected[:10])


@pytest.mark.parametrize(
    ("columns", "options", "mode", "message"),
    [
        ("cast(id as string) as body", {"topic": "missing-one"}, "append", "option topic = 'missing-one'"),
        ("cast(id as string) as body", {}, "overwrite", "topics cannot be overwritten"),
        ("cast(id as string) as body, id as price", {}, "append", "column price is unknown"),
        ("cast(id as string) as body", {"batchBytes": "1"}, "append", "option batchBytes = '1'"),
        pytest.param(
            *("cast(id as string) as body", {"nameserver": "127.0.0.1:1"}, "append", "127.0.0.1:1"),
            marks=pytest.mark.long,  # all its pauses, in a process of Spark's
        ),
    ],
)
def test_what_is_refused_before_anything_is_sent(
    spark, target, columns: str, options: dict[str, str], mode: str, message: str
) -> None:
    frame = spark.range(3).selectExpr(*columns.split(", "))
    with pytest.raises(PySparkException) as raised:
        frame.write.format("mqframe").mode(mode).options(**{**target.options(), **options}).save()
    assert message in str(raised.value)
    assert target.messages() == []


def test_a_name_server_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(writers, "retrying", partial(retrying, pauses=(0.5,), sleep=pauses.append))
    options = parse_sink_options({"nameserver": "127.0.0.1:1", "topic": "t"})
    schema = t.StructType([t.StructField("body", t.BinaryType())])
    with pytest.raises(RetryError, match=r"127\.0\.0\.1:1"):
        batch_writer(options, schema, overwrite=False)
    assert pauses == [0.5]


def test_options_of_the_sink_are_not_those_of_the_source(spark, target) -> None:
    with pytest.raises(PySparkException, match="unknown option batchbytes = '2048'"):
        spark.read.format("mqframe").options(**target.options(batchBytes="2048")).load()


def test_a_topic_is_copied(spark, target) -> None:
    target.cluster.create_topic("copy", 2)
    frame = spark.range(300).selectExpr(
        "concat('body ', id) as value", "'t' as tags", "'a b' as keys", "map('p', 'q') as properties"
    )
    target.write(frame)
    source = spark.read.format("mqframe").options(**target.options()).load()
    source.write.format("mqframe").mode("append").options(
        nameserver=target.cluster.nameserver, topic="copy", ignoreColumns="true"
    ).save()
    copies = target.messages("copy")
    assert Counter(message.body for message in copies) == numbered(0, 300)
    assert {(m.tag, tuple(m.keys), m.properties["p"]) for m in copies} == {("t", ("a", "b"), "q")}
    assert not {m.message_id for m in copies} & {m.message_id for m in target.messages()}


def run(query: StreamingQuery) -> None:
    try:
        assert query.awaitTermination(SECONDS_MAX)
    finally:
        query.stop()


def test_a_stream_that_failed_repeats_its_batch_with_the_same_keys(spark, target, tmp_path: Path) -> None:
    """One row of the first batch has a topic that is not there yet: the rest of its batch is sent twice."""
    later = "comes-later"
    folder = tmp_path / "rows"

    def start() -> StreamingQuery:
        frame = spark.readStream.schema("number long, topic string").json(str(folder))
        messages = frame.selectExpr("concat('body ', number) as value", "topic")
        return (
            messages.writeStream.format("mqframe")
            .options(nameserver=target.cluster.nameserver, idempotenceKeys="true", batchBytes="1024")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    rows = spark.range(0, 2000, 1, 1).selectExpr(
        "id as number", f"if(id < 1999, '{target.topic}', '{later}') as topic"
    )
    rows.write.json(str(folder))
    with pytest.raises(PySparkException, match=r"row 1999: column topic = 'comes-later': no name server"):
        run(start())
    assert target.messages() == []  # the rows of one Arrow batch are looked at before any of them is sent
    target.cluster.create_topic(later, 1)
    run(start())
    assert target.bodies() == numbered(0, 1999)
    assert target.bodies(later) == numbered(1999, 2000)
    # Forget the commit: Spark runs the batch again, as after a crash.
    for commit in (tmp_path / "checkpoint" / "commits").glob("*0*"):
        commit.unlink()
    run(start())
    assert set(target.bodies().values()) == {2}
    keys = Counter(message.properties["IDEMPOTENCE_KEY"] for message in target.messages())
    assert len(keys) == 1999
    assert set(keys.values()) == {2}
    source = spark.read.format("mqframe").options(**target.options()).load()
    once = drop_doubles(source).select("body").collect()
    assert Counter(bytes(row.body) for row in once) == numbered(0, 1999)


def counted(spark, tmp_path: Path) -> Any:
    """The words of two files, one micro-batch each, counted by a stream."""
    folder = tmp_path / "words"
    folder.mkdir(exist_ok=True)
    for number, words in enumerate(["a a b", "a c"]):
        (folder / f"{number}.txt").write_text("\n".join(words.split()))
        os.utime(folder / f"{number}.txt", (number + 1, number + 1))  # the older one is read first
    frame = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(folder))
    return frame.groupBy("value").count().selectExpr("concat(value, ' ', count) as body")


def counts(spark, target, tmp_path: Path, mode: str) -> None:
    """Run the stream that counts words with this output mode."""
    run(
        counted(spark, tmp_path)
        .writeStream.format("mqframe")
        .options(**target.options(checkpointLocation=str(tmp_path / "checkpoint")))
        .outputMode(mode)
        .trigger(availableNow=True)
        .start()
    )


def test_a_complete_stream_appends_each_whole_result(spark, target, tmp_path: Path) -> None:
    counts(spark, target, tmp_path, "complete")
    assert target.bodies() == Counter([b"a 2", b"b 1", b"a 3", b"b 1", b"c 1"])


def test_an_update_stream_is_refused_by_spark(spark, target, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="mqframe does not support Update mode"):
        counts(spark, target, tmp_path, "update")
    assert target.messages() == []


def test_changed_rows_are_written_once_by_foreach_batch(spark, target, tmp_path: Path) -> None:
    def send(changed: Any, batch: int) -> None:
        target.write(
            changed, exactlyOnce="true", commitPath=str(tmp_path / "commits"), queryName=f"words-{batch}"
        )

    def start() -> StreamingQuery:
        writer = counted(spark, tmp_path).writeStream.outputMode("update").foreachBatch(send)
        return (
            writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    run(start())
    changed = Counter([b"a 2", b"b 1", b"a 3", b"c 1"])
    assert target.bodies() == changed
    # Forget the last commit: Spark runs the micro-batch again, as after a crash.
    for commit in (tmp_path / "checkpoint" / "commits").glob("*1*"):
        commit.unlink()
    run(start())
    assert target.bodies() == changed
