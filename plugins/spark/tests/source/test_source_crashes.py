"""Streaming queries that are killed, or lose brokers and topics on their way: no gap, no repetition.

The sink is Spark's own for Parquet, which is exact itself, so rows can be compared with what was sent.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqframe import Admin, Broker, BrokerSettings, Message, MessageQueue, Producer, Puller, StoreSettings
from mqframe.testing.cluster import SMALL_STORE, Cluster

DRIVER = Path(__file__).parent / "crashing" / "dying_driver.py"
Row = tuple[str, str, int, int, bytes]


class Sender:
    """Sends to topics, evenly over their queues, and remembers what was stored."""

    def __init__(self, nameserver: str) -> None:
        self.nameserver = nameserver
        self.rows: list[Row] = []

    def send(self, count: int, *topics: str) -> None:
        with (
            Producer(group="sender", nameserver=self.nameserver) as producer,
            Puller(self.nameserver) as puller,
        ):
            for topic in topics:
                for queue in puller.queues(topic):
                    for number in range(count):
                        body = b"%d of %d" % (number, len(self.rows))
                        sent = producer.send(Message(topic, body), queue=queue)
                        row = (topic, queue.broker_name, queue.queue_id, sent.queue_offset, body)
                        self.rows.append(row)


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


def until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


class Deaths:
    """Runs of the same query over one checkpoint, each killed at another place."""

    def __init__(self, folder: Path, nameserver: str, **options: str) -> None:
        self.folder = folder
        self._nameserver = nameserver
        self._options = options

    def run(self, kill: str, *, failing: bool = False) -> list[str]:
        """The places that the run passed, the one where it died at last."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        given = {
            "out": str(self.folder / "out"), "checkpoint": str(self.folder / "checkpoint"),
            "log": str(log), "kill": kill, "failing": failing, "options": self._options,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(DRIVER), json.dumps(given)],
            env={**os.environ, "NAMESRV_ADDR": self._nameserver},
            capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        places = log.read_text().splitlines()
        if kill:
            assert done.returncode == -signal.SIGKILL, done.stderr
            assert kill in places
        else:
            assert done.returncode == 0, done.stderr
        return places

    def batches(self, what: str) -> list[int]:
        folder = self.folder / "checkpoint" / what
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal())

    def begun_at(self) -> dict[tuple[str, int], int]:
        """Where the query began, from its checkpoint."""
        first = (self.folder / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
        [queues] = json.loads(first).values()
        return {(key.split("/")[0], int(key.split("/")[1])): offset for key, offset in queues.items()}


@pytest.mark.timeout(900)
def test_a_driver_killed_between_any_two_calls_goes_on_exactly(spark, tmp_path, mqframe_cluster) -> None:
    """`latest` is the hardest beginning: it is another one each time that it is asked for."""
    mqframe_cluster.create_topic("t", 2)
    sender = Sender(mqframe_cluster.nameserver)
    sender.send(3, "t")
    deaths = Deaths(
        tmp_path, sender.nameserver, topic="t", startingOffsets="latest", maxOffsetsPerTrigger="8"
    )
    # Where the query begins is written down with the first batch, which dies; the next run repeats it.
    deaths.run("after partitions 1")
    assert (deaths.batches("offsets"), deaths.batches("commits")) == ([0], [])
    sender.send(5, "t")
    # Where a batch ends is known, but not written down; then it is, but nothing was read; then some.
    places = deaths.run("after latestOffset 1")
    assert places[:2] == ["before initialOffset 1", "after initialOffset 1"]
    assert deaths.batches("commits") == [0]
    deaths.run("after partitions 1")
    assert deaths.batches("offsets") == [0, 1]
    deaths.run("within read 2")
    deaths.run("after read 1")
    assert deaths.batches("commits") == [0]
    sender.send(5, "t")
    # A batch is done, and the source has not heard of it.
    deaths.run("before commit 1")
    # Tasks fail, and workers are killed, and are tried again.
    sender.send(5, "t")
    places = deaths.run("", failing=True)
    assert any(place.startswith("worker dies") for place in places)
    first = deaths.begun_at()
    assert set(first.values()) == {3}
    expected = Counter(row for row in sender.rows if row[3] >= first[row[1:3]])
    assert sum(expected.values()) == 30
    assert landed(spark, tmp_path / "out") == expected
    # The sink has a batch that the query does not know to be done.
    last = deaths.batches("commits")[-1]
    (tmp_path / "checkpoint" / "commits" / str(last)).unlink()
    (tmp_path / "checkpoint" / "commits" / f".{last}.crc").unlink(missing_ok=True)
    sender.send(1, "t")
    query = start(spark, tmp_path, nameserver=sender.nameserver, topic="t", maxOffsetsPerTrigger="8")
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert landed(spark, tmp_path / "out") == expected + Counter(sender.rows[-2:])


class ServerProcess:
    """`mqframe server` in a process of its own, on ports that stay."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = ("0", "0")
        self._process: subprocess.Popen[str] | None = None
        self.nameserver = ""

    def start(self) -> None:
        command = [sys.executable, "-m", "mqframe", "server", "--data", str(self._folder)]
        command += ["--nameserver-port", self._ports[0], "--broker-port", self._ports[1]]
        command += ["--set", "store.disk_limits=false"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        words = dict(word.split("=") for word in self._process.stdout.readline().split()[1:])
        self.nameserver = words["nameserver"]
        self._ports = tuple(words[name].rpartition(":")[2] for name in ("nameserver", "broker"))

    def kill(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def test_a_broker_killed_while_a_query_reads(spark, tmp_path) -> None:
    """The query bears it, or fails and is started again: exact in both cases."""
    server = ServerProcess(tmp_path / "server")
    server.start()
    try:
        with Admin(nameserver=server.nameserver) as admin:
            admin.create_topic("t", queues=3)
        sender = Sender(server.nameserver)
        options = {"nameserver": server.nameserver, "topic": "t", "maxOffsetsPerTrigger": "40"}
        restarts = 0
        sender.send(200, "t")
        query = start(spark, tmp_path, **options)
        for _ in range(3):
            moved_on(query)
            server.kill()
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
        with Puller(server.nameserver) as puller:
            ends = {queue: puller.max_offset(queue) for queue in puller.queues("t")}
    finally:
        server.kill()
    assert sum(ends.values()) == len(sender.rows) == 780
    assert landed(spark, tmp_path / "out") == Counter(sender.rows)


def add_broker(cluster: Cluster) -> Broker:
    """Another broker, `broker-z`, beside those of `cluster`; its files stay."""
    settings = BrokerSettings(name="broker-z", port=0, nameservers=(cluster.nameserver,))
    store = StoreSettings(directory=cluster.directory / "broker-z", **SMALL_STORE)

    async def started() -> Broker:
        broker = Broker(settings, store, cluster.cluster.clock)
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
            admin.create_topic("kind_a", queues=3)
            until(
                lambda: "broker-z" in {data.broker_name for data in admin.topic_route("kind_a").queue_datas}
            )
        sender.send(4, "kind_a")
        query.processAllAvailable()
        # One of the two goes: its queues wait, the others are read; then it is back.
        with Producer(group="sender", nameserver=cluster.nameserver) as producer:
            late = producer.send(Message("kind_a", b"late"), queue=MessageQueue("kind_a", "broker-z", 0))
        cluster.run(second.stop())
        second = None
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
        admin.delete_topic("goes")
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
