"""Streaming queries that lose brokers and topics on their way: no gap, no repetition.

The sink is Spark's own for Parquet, which is exact itself, so rows can be compared with what was sent.
"""

import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mqframe_testing.cluster import SMALL_STORE, Cluster
from mqframe_testing.server_process import ServerProcess
from sent_rows import Row, Sender

from mqframe import (
    Admin,
    Broker,
    BrokerSections,
    BrokerSettings,
    Message,
    MessageQueue,
    Producer,
    Puller,
    StoreSettings,
)


def landed(spark: Any, out: Path) -> Counter[Row]:
    frame = spark.read.parquet(str(out)).select("topic", "broker", "queue_id", "queue_offset", "body")
    return Counter((*row[:4], bytes(row.body)) for row in frame.collect())


def start(spark: Any, folder: Path, **options: str) -> Any:
    stream = spark.readStream.format("mqframe").options(**options).load()
    return (
        stream.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="50 milliseconds")
        .start()
    )


def moved_on(query: Any) -> None:
    """Wait for another micro-batch, or the query's end."""

    def batch() -> int:
        return query.lastProgress["batchId"] if query.lastProgress else -1

    before = batch()
    until(lambda: not query.isActive or batch() > before)


def until(done: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_a_broker_killed_while_a_query_reads(spark, tmp_path) -> None:
    """The query bears it, or fails and is started again: exact in both cases."""
    server = ServerProcess(tmp_path / "server")
    server.start()
    try:
        with Admin(nameserver=server.nameserver) as admin:
            admin.topics.create("t", queues=3)
        sender = Sender(server.nameserver)
        options = {"nameserver": server.nameserver, "topic": "t", "maxOffsetsPerTrigger": "40"}
        restarts = 0
        sender.send(200, "t")
        query = start(spark, tmp_path, **options)
        for _ in range(3):
            moved_on(query)
            server.end(signal.SIGKILL)
            server.start()
            sender.send(20, "t")
            if not query.isActive:
                restarts += 1
                query = start(spark, tmp_path, **options)
        for _ in range(3):
            try:
                query.processAllAvailable()
                break
            except Exception:
                restarts += 1
                query = start(spark, tmp_path, **options)
        query.stop()
        with Puller(nameserver=server.nameserver) as puller:
            ends = {queue: puller.max_offset(queue) for queue in puller.queues("t")}
    finally:
        server.end(signal.SIGKILL)
    assert sum(ends.values()) == len(sender.rows) == 780
    assert landed(spark, tmp_path / "out") == Counter(sender.rows)


def add_broker(cluster: Cluster) -> Broker:
    """Another broker, `broker-z`, beside those of `cluster`; its files stay."""
    settings = BrokerSettings(name="broker-z", port=0, nameservers=(cluster.nameserver,))
    store = StoreSettings(directory=cluster.directory / "broker-z", **SMALL_STORE)

    async def started() -> Broker:
        broker = Broker(BrokerSections(settings, store), cluster.cluster.clock)
        await broker.start()
        return broker

    return cluster.run(started())


def test_queues_brokers_and_topics_that_come_while_a_query_runs(spark, tmp_path, mqframe_cluster) -> None:
    cluster: Cluster = mqframe_cluster
    cluster.create_topic("kind_a", 2)
    sender = Sender(cluster.nameserver)
    sender.send(4, "kind_a")
    query = start(spark, tmp_path, nameserver=cluster.nameserver, topicPattern="kind_.*")
    second = None
    try:
        query.processAllAvailable()
        cluster.create_topic("kind_a", 4)
        cluster.create_topic("kind_b", 1)
        cluster.create_topic("another", 1)
        sender.send(4, "kind_a", "kind_b", "another")
        query.processAllAvailable()
        second = add_broker(cluster)
        with Admin(nameserver=cluster.nameserver) as admin:
            admin.topics.create("kind_a", queues=3)
            until(
                lambda: "broker-z" in {data.broker_name for data in admin.topics.route("kind_a").queue_datas}
            )
        sender.send(4, "kind_a")
        query.processAllAvailable()
        # One of the two goes: its queues wait, the others are read; then it is back. The query rests while it
        # goes: a batch for which its message was planned already would fail.
        query.stop()
        with Producer(group="sender", nameserver=cluster.nameserver) as producer:
            late = producer.send(Message("kind_a", b"late"), queue=MessageQueue("kind_a", "broker-z", 0))
        cluster.run(second.stop())
        second = None
        query = start(spark, tmp_path, nameserver=cluster.nameserver, topicPattern="kind_.*")
        sender.send(4, "kind_a")
        query.processAllAvailable()
        assert query.exception() is None
        second = add_broker(cluster)
        sender.rows.append(("kind_a", "broker-z", 0, late.queue_offset, b"late"))
        sender.send(2, "kind_a")
        query.processAllAvailable()
    finally:
        query.stop()
        if second is not None:
            cluster.run(second.stop())
    assert {row[1] for row in sender.rows} == {"broker-a", "broker-z"}
    assert landed(spark, tmp_path / "out") == Counter(row for row in sender.rows if row[0] != "another")


def test_a_topic_deleted_while_a_query_runs(spark, tmp_path, mqframe_cluster) -> None:
    cluster: Cluster = mqframe_cluster
    for topic in ("stays", "goes"):
        cluster.create_topic(topic, 1)
    sender = Sender(cluster.nameserver)
    sender.send(5, "stays", "goes")
    options = {"nameserver": cluster.nameserver, "topics": "stays,goes"}
    query = start(spark, tmp_path, **options)
    query.processAllAvailable()
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.topics.delete("goes")
    until(lambda: not query.isActive)
    said = str(query.exception())
    assert "DataLoss" in said
    # Whichever comes first: the queue is empty at its broker, or the name server has no such topic.
    assert ("topic goes is gone from broker broker-a" in said and "read up to {0: 5}" in said) or (
        "topic goes, broker broker-a, queue 0: offset 5 is needed, but the queue ends at 0" in said
    )
    query = start(spark, tmp_path, **options, failOnDataLoss="false")
    try:
        sender.send(5, "stays")
        query.processAllAvailable()
        # The topic comes again: its offsets begin anew, and so does its reading.
        cluster.create_topic("goes", 1)
        sender.send(3, "goes")
        query.processAllAvailable()
    finally:
        query.stop()
    assert [row[3] for row in sender.rows if row[0] == "goes"] == [0, 1, 2, 3, 4, 0, 1, 2]
    assert landed(spark, tmp_path / "out") == Counter(sender.rows)
