"""Topics of Apache's broker in Spark: through the broker, and from its store, running, stopped and cleaned.

What must be there is told by the clients that sent it: ours and Java's.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_time import until

from interop.apache import Apache
from interop.conftest import java_client
from interop.servers import Servers
from mqframe import Admin, Message, MessageQueue, Producer, ProducerSettings, Puller

pytest.importorskip("mqframe_spark", reason="the Spark plugin is not installed")

TOPIC = "flights"
QUEUES = 4
CONF = "mappedFileSizeCommitLog=1048576\nmaxMessageSize=262144\nmappedFileSizeConsumeQueue=2000\n"
"""Small files, so that there are several: 1 MiB of log, 100 entries of a queue."""

Row = tuple[int, int, str, bytes]
"""Queue, offset, id, body."""


@pytest.fixture(scope="module")
def broker(newest_class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apache]:
    with Apache(newest_class_path, tmp_path_factory.mktemp("source"), conf=CONF) as running:
        yield running


def send_by_java(class_path: str, broker: Apache, mode: str, count: int) -> list[list[str]]:
    """What Java's producer says of each message that it sent."""
    client = java_client(
        class_path, ["send", broker.servers.nameserver, TOPIC, mode, str(count)], broker.home
    )
    try:
        return [line for line in client.finish() if line[0] == "sent"]
    finally:
        client.end()


@pytest.fixture(scope="module")
def sent(broker: Apache, newest_class_path: str) -> Counter[Row]:
    """What was stored, by whom ever."""
    servers = broker.servers
    with Admin(nameserver=servers.nameserver) as admin:
        admin.topics.create(TOPIC, queues=QUEUES)
        until(lambda: TOPIC in admin.topics.list())
    rows: Counter[Row] = Counter()
    plain = ProducerSettings(compress_over_bytes=1 << 20)
    with Producer("source", nameserver=servers.nameserver, settings=plain) as producer:
        messages = [
            Message(
                TOPIC, b"%d " % n + bytes(5000), tag=f"tag{n % 3}", keys=[f"k{n}"], properties={"n": str(n)}
            )
            for n in range(600)
        ]
        queues = [MessageQueue(TOPIC, servers.broker_name, n % QUEUES) for n in range(len(messages))]
        futures = [producer.submit(m, queue=queue) for m, queue in zip(messages, queues, strict=True)]
        for message, future in zip(messages, futures, strict=True):
            result = future.result(30)
            rows[result.queue.queue_id, result.queue_offset, result.message_id, message.body] += 1
    for kind in ("zlib", "lz4", "zstd"):
        settings = ProducerSettings(compression=kind)
        with Producer("source", nameserver=servers.nameserver, settings=settings) as producer:
            body = kind.encode() * 9000
            result = producer.send(Message(TOPIC, body))
            rows[result.queue.queue_id, result.queue_offset, result.message_id, body] += 1
    for mode, count in (("sync", 20), ("big", 8)):
        told = send_by_java(newest_class_path, broker, mode, count)
        for number, line in enumerate(told):
            text = f"big-{number}-" + "0123456789" * 2000 if mode == "big" else f"{mode}-{number}"
            rows[int(line[4]), int(line[5]), line[2], text.encode()] += 1
    assert sum(rows.values()) == 631
    with Puller(nameserver=servers.nameserver) as puller:
        queues = puller.queues(TOPIC)
        until(lambda: sum(puller.max_offset(queue) for queue in queues) == 631)
    assert len(list((broker.home / "store" / "commitlog").glob("0*"))) > 3
    return rows


def through(spark: Any, servers: Servers, **options: str) -> Any:
    given = {"nameserver": servers.nameserver, "topic": TOPIC, **options}
    return spark.read.format("mqframe").options(**given).load()


def straight(spark: Any, store: Path, **options: str) -> Any:
    path = f"apache-a={store}"
    return spark.read.format("mqframe").options(mode="files", path=path, topic=TOPIC, **options).load()


def rows_of(frame: Any) -> Counter[Row]:
    found = frame.select("queue_id", "queue_offset", "msg_id", "body").collect()
    return Counter((*row[:3], bytes(row.body)) for row in found)


@pytest.mark.proves("store files", by="Apache 5.3.3")
def test_brokers_and_files_tell_what_was_sent(spark: Any, broker: Apache, sent: Counter[Row]) -> None:
    """Every column is the same by both ways; the broker runs on."""
    asked = through(spark, broker.servers)
    read = straight(spark, broker.home / "store", minPartitions="9")
    assert rows_of(asked) == rows_of(read) == sent
    assert read.rdd.getNumPartitions() >= 9
    assert sorted(str(row) for row in asked.collect()) == sorted(str(row) for row in read.collect())
    host = f"127.0.0.1:{broker.servers.broker.rpartition(':')[2]}"
    assert {row.store_host for row in read.select("store_host").distinct().collect()} == {host}
    assert {row.broker for row in asked.select("broker").distinct().collect()} == {"apache-a"}


def test_filters_and_bounds(spark: Any, broker: Apache, sent: Counter[Row]) -> None:
    servers, store = broker.servers, broker.home / "store"
    tagged = [through(spark, servers, tags="tag1 || tag2"), straight(spark, store, tags="tag1 || tag2")]
    counts = {frame.select("n_of").count() for frame in map(numbered, tagged)}
    assert counts == {400 + 13 + 5}
    chosen = numbered(through(spark, servers, sql="n BETWEEN 10 AND 12"))
    assert sorted(row.n_of for row in chosen.collect()) == ["10", "11", "12"]
    start = {"startingOffsets": json.dumps({TOPIC: {"apache-a/0": 50, "apache-a/1": -1}})}
    end = {"endingOffsets": json.dumps({TOPIC: {"apache-a/2": 30, "apache-a/3": -2}})}
    expected = Counter(
        {
            row: count
            for row, count in sent.items()
            if (row[0] != 0 or row[1] >= 50) and row[0] not in (1, 3) and (row[0] != 2 or row[1] < 30)
        }
    )
    assert rows_of(through(spark, servers, **start, **end)) == expected
    assert rows_of(straight(spark, store, **start, **end)) == expected
    moment = straight(spark, store).agg({"store_timestamp": "max"}).first()[0]
    for frame in (
        through(spark, servers, startingTimestamp=str(round(moment.timestamp() * 1000))),
        straight(spark, store, startingTimestamp=str(round(moment.timestamp() * 1000))),
    ):
        assert frame.count() == frame.where(frame.store_timestamp >= moment).count() > 0


def numbered(frame: Any) -> Any:
    from pyspark.sql import functions as f

    return frame.select(f.element_at("properties", "n").alias("n_of"))


@pytest.mark.parametrize("mode", ["broker", "files"])
def test_a_stream_reads_all_once_and_tells_its_group(
    spark: Any, broker: Apache, sent: Counter[Row], tmp_path: Path, mode: str
) -> None:
    servers = broker.servers
    where = {"nameserver": servers.nameserver, "topic": TOPIC, "commitToGroup": f"spark_{mode}"}
    if mode == "files":
        where |= {"mode": "files", "path": f"apache-a={broker.home / 'store'}"}
    for _ in range(2):
        query = (
            spark.readStream.format("mqframe")
            .options(**where, maxOffsetsPerTrigger="300")
            .load()
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
    assert rows_of(spark.read.parquet(str(tmp_path / "out"))) == sent
    with Puller(f"spark_{mode}", nameserver=servers.nameserver) as puller:
        assert sum(puller.committed(queue) or 0 for queue in puller.queues(TOPIC)) == 631


@pytest.mark.proves("store files", by="Apache 5.3.3")
def test_a_live_store_is_read_up_to_its_queues(spark: Any, broker: Apache, sent: Counter[Row]) -> None:
    """While a producer sends, each read holds a beginning of the queue, never less than the one before."""
    servers = broker.servers
    with Admin(nameserver=servers.nameserver) as admin:
        admin.topics.create("growing", queues=1)
        until(lambda: "growing" in admin.topics.list())
    store, seen = broker.home / "store", 0
    with Producer("growing", nameserver=servers.nameserver) as producer:
        producer.send(Message("growing", b"0"))
        for _ in range(3):
            futures = [producer.submit(Message("growing", b"%d" % n)) for n in range(500)]
            frame = spark.read.format("mqframe").options(
                mode="files", path=f"apache-a={store}", topic="growing", columns="queue_offset"
            )
            offsets = sorted(row.queue_offset for row in frame.load().collect())
            assert offsets == list(range(len(offsets)))
            assert len(offsets) >= max(seen, 1)
            seen = len(offsets)
            [future.result(30) for future in futures]
    assert seen > 500


@pytest.mark.proves("store files", by="Apache 5.3.3")
def test_a_stopped_store_that_lost_its_oldest_file(
    spark: Any, broker: Apache, sent: Counter[Row], tmp_path: Path
) -> None:
    """Retention removed it; the last test, as the broker ends here."""
    broker.stop()
    store = tmp_path / "copy"
    shutil.copytree(broker.home / "store", store)
    assert rows_of(straight(spark, store)) == sent
    oldest, second, *_ = sorted((store / "commitlog").glob("0*"))
    oldest.unlink()
    kept = rows_of(straight(spark, store))
    assert 0 < sum(kept.values()) < 631
    low = {queue: min(row[1] for row in kept if row[0] == queue) for queue in range(QUEUES)}
    assert kept == Counter({row: count for row, count in sent.items() if row[1] >= low[row[0]]})
    early = {"startingOffsets": json.dumps({TOPIC: {f"apache-a/{queue}": 0 for queue in range(QUEUES)}})}
    with pytest.raises(Exception, match="DataLoss") as problem:
        straight(spark, store, **early).count()
    lost = f"topic {TOPIC}, broker apache-a, queue 0: offset 0 is needed, but the oldest that is kept is"
    assert f"{lost} {low[0]}" in str(problem.value)
    assert rows_of(straight(spark, store, **early, failOnDataLoss="false")) == kept

    # A record that is damaged is named with its place in the log.
    first = straight(spark, store).orderBy("commitlog_offset").first()
    with second.open("r+b") as log:
        log.seek(first.commitlog_offset - int(second.name) + 4)
        log.write(b"\x00\x00\x00\x00")
    with pytest.raises(
        Exception, match=rf"the record at commit-log offset {first.commitlog_offset} does not"
    ):
        straight(spark, store).collect()
