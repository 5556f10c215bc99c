"""Exactly-once writes without Spark: its calls in its order, and a crash between any two of them."""

import contextlib
import os
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from mqframe_spark.exact import bucket
from mqframe_spark.exact import committer as exact_commit
from mqframe_spark.exact import object_folder as objects
from mqframe_spark.exact import writers as exact_sink
from mqframe_spark.exact.check_back_answers import CheckBackServer, Serving
from mqframe_spark.exact.commit_folder import Folder
from mqframe_spark.exact.commit_record import CommitRecord
from mqframe_spark.exact.place import CommitPlace, group_of
from mqframe_spark.exact.rules import SinkRecord
from mqframe_spark.exact.writers import ExactBatchWriter, ExactStreamWriter
from mqframe_spark.sink.options import SinkOptions, parse_sink_options
from mqframe_spark.sink.task_facts import BATCH_ID, QUERY_ID
from mqframe_testing.cluster import Cluster
from mqframe_transactions.rules.half_batch import EndStatus, PreparedHalf
from mqframe_transactions.settings import TransactionSettings
from pyspark.sql import types as t

from mqframe import Admin, BatchTransactionProducer, Puller, TransactionOutcome
from mqframe.core.errors import MqframeError
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.storage.record import decode_records

sys.path.insert(0, str(Path(__file__).parent))

from s3_server import S3Server

QUICK = {"timeout_ms": 200, "check_interval_ms": 100, "check_max": 10_000}
SCHEMA = t.StructType([t.StructField("body", t.BinaryType())])
QUERY = "3f6e1c9a-0000-4000-8000-000000000001"


class Crash(BaseException):
    """The process is gone."""


class Places:
    """Where a driver crashes: the `times`-th passing of `place`."""

    Crash = Crash

    def __init__(self) -> None:
        self.place = ""
        self.times = 1
        self.passed: list[str] = []

    def at(self, place: str, times: int = 1) -> None:
        """Crash there, once."""
        self.place, self.times = place, times
        self.passed = []

    def pass_by(self, place: str) -> None:
        """Note that `place` was reached; raises `Crash` where that was asked for."""
        self.passed.append(place)
        if place == self.place and self.passed.count(place) == self.times:
            self.place = ""
            raise Crash(place)


class Query:
    """A streaming query, as Spark runs it: makes a writer, pickles it for tasks, makes another to commit."""

    def __init__(self, cluster: Cluster, topic: str, folder: Path, told: dict[str, str], **more: str) -> None:
        self.cluster = cluster
        self.given = {
            "nameserver": cluster.nameserver,
            "topic": topic,
            "checkpointLocation": str(folder),
            "exactlyOnce": "true",
            "batchBytes": "1024",
            **more,
        }
        self.topic = topic
        self.told = told
        self.told[QUERY_ID] = QUERY

    @property
    def options(self) -> SinkOptions:
        return parse_sink_options(self.given)

    @property
    def place(self) -> CommitPlace:
        return exact_sink.stream_place(self.options)

    def record(self) -> SinkRecord:
        record = self.place.record().read()
        assert record is not None
        return record

    def plan(self) -> bytes:
        """What is sent to tasks."""
        writer = ExactStreamWriter(self.options, SCHEMA)
        pickle.dumps(writer)
        return pickle.dumps(writer)

    def task(
        self, plan: bytes, batch: int, rows: Iterable[bytes], key: Callable[[bytes], str] | None = None
    ) -> Any:
        """One attempt of one task. `key`: the sharding key of a row."""
        self.told[BATCH_ID] = str(batch)
        writer: ExactStreamWriter = pickle.loads(plan)
        return pickle.loads(pickle.dumps(writer.write(batches(rows, key))))

    def commit(self, messages: list[Any], batch: int) -> None:
        ExactStreamWriter(self.options, SCHEMA).commit(messages, batch)

    def abort(self, messages: list[Any], batch: int) -> None:
        ExactStreamWriter(self.options, SCHEMA).abort(messages, batch)

    def batch(self, batch: int, *parts: Iterable[bytes]) -> None:
        """A whole micro-batch."""
        plan = self.plan()
        self.commit([self.task(plan, batch, part) for part in parts], batch)

    def write(self, *parts: Iterable[bytes], **more: str) -> None:
        """The rows as a batch, not a stream."""
        given = {name: value for name, value in self.given.items() if name != "checkpointLocation"}
        writer = ExactBatchWriter(parse_sink_options({**given, **more}), SCHEMA)
        plan = pickle.dumps(writer)
        messages = [pickle.loads(plan).write(batches(part)) for part in parts]
        pickle.loads(plan).commit(messages)

    def queues(self) -> list[list[bytes]]:
        """What each queue of the topic holds, in order."""
        found: list[list[bytes]] = []
        with Puller(nameserver=self.given["nameserver"]) as puller:
            for queue in puller.queues(self.topic):
                at, end = puller.min_offset(queue), puller.max_offset(queue)
                found.append([])
                while at < end:
                    result = puller.pull(queue, at)
                    found[-1] += [message.body for message in result.messages]
                    at = result.next_offset
        return found

    def bodies(self) -> Counter[bytes]:
        """All messages of the topic."""
        return Counter(body for queue in self.queues() for body in queue)

    @staticmethod
    def rows(batch: int, count: int = 60) -> list[bytes]:
        """Rows that tell where they come from; 60 of them make several requests of 1 KiB."""
        return [b"batch %d row %d %s" % (batch, number, b"." * 60) for number in range(count)]

    @staticmethod
    def until(done: Callable[[], bool]) -> None:
        """Wait."""
        until(done)

    def members(self) -> int:
        """How many clients of the query's group the broker knows."""
        with Admin(nameserver=self.given["nameserver"]) as admin:
            try:
                return len(admin.members.producers(group_of(self.options, self.place)).connection_set)
            except MqframeError:
                return 0

    def settled(self) -> None:
        """Wait until no half message is open: as many ends as halves."""

        async def count() -> tuple[int, int]:
            store = self.cluster.broker.store
            ids: set[str] = set()
            at, end = 0, store.queues.max_offset(HALF_TOPIC, 0)
            while at < end:
                got = store.reads.get(HALF_TOPIC, 0, at, 32)
                ids |= {half.message_id for part in got.parts for half in decode_records(part)}
                at = max(got.next_offset, at + 1)
            return len(ids), store.queues.max_offset(OP_HALF_TOPIC, 0)

        until(lambda: len(set(self.cluster.run(count()))) == 1)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """A process that answers, as a thread."""
        stopping = threading.Event()
        options = self.options
        serving = Serving(options, self.place.root, group_of(options, self.place))
        thread = threading.Thread(target=CheckBackServer(serving, stopping).run)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()


def batches(rows: Iterable[bytes], key: Callable[[bytes], str] | None = None) -> Iterator[pa.RecordBatch]:
    rows = list(rows)
    for begin in range(0, len(rows), 20):
        part = rows[begin : begin + 20]
        columns = {"body": pa.array(part, pa.binary())}
        if key is not None:
            columns["sharding_key"] = pa.array([key(row) for row in part])
        yield pa.record_batch(columns)


def until(done: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Places:
    """Places of a driver's commit where it can crash: around each version of the record, and each end."""
    found = Places()
    publish, end = CommitRecord.publish, BatchTransactionProducer.end

    def publishing(self: Any, record: SinkRecord) -> None:
        under_way = any(not opened.left for opened in record.open)
        kind = "begin" if record.running else "commit" if under_way else "note"
        found.pass_by(f"before {kind}")
        publish(self, record)
        found.pass_by(f"after {kind}")

    def ending(
        self: Any, halves: Iterable[PreparedHalf], outcome: TransactionOutcome, **more: Any
    ) -> list[EndStatus]:
        statuses: list[EndStatus] = []
        for half in halves:
            found.pass_by("before an end")
            statuses += end(self, [half], outcome, **more)
        return statuses

    monkeypatch.setattr(CommitRecord, "publish", publishing)
    monkeypatch.setattr(BatchTransactionProducer, "end", ending)
    return found


@pytest.fixture
def make_query(
    mqframe_cluster_factory: Callable[..., Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Query]:
    """Makes a query that writes to a broker that asks soon. Takes settings of its transactions."""
    told: dict[str, str] = {}
    monkeypatch.setattr(exact_sink, "told", lambda name, option: told[name])
    monkeypatch.setattr(exact_sink, "ensure_answers", lambda *_: None)
    monkeypatch.setattr(exact_commit, "END_PAUSES_SECONDS", (0.05,) * 100)

    def make(**settings: int) -> Query:
        cluster = mqframe_cluster_factory(sections=[TransactionSettings(**{**QUICK, **settings})])
        cluster.create_topic("orders", 2)
        return Query(cluster, "orders", tmp_path / "checkpoint", told)

    return make


@pytest.fixture
def query(make_query: Callable[..., Query]) -> Query:
    """A query that writes to a broker that asks soon, and never gives up."""
    return make_query()


@pytest.fixture(scope="session")
def running_s3_server() -> Iterator[S3Server]:
    server = S3Server()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def s3(running_s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An S3 server with a new bucket; nothing that the environment says of one counts."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    running_s3_server.renew()
    yield running_s3_server
    running_s3_server.renew()


@pytest.fixture
def object_folder(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder on it. Without the retries of the library, which would hide most of what goes wrong."""
    monkeypatch.setattr(bucket, "CREATE_PAUSES_SECONDS", (0.0,) * 4)
    monkeypatch.setattr(objects, "_RETRY", {"max_retries": 0})
    return s3.opened()
