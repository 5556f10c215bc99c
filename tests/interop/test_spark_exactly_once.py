"""Exactly-once writes of the Spark plugin to Apache's broker, which knows no half batches.

Without Spark, whose calls are made in its order: what matters here is the broker.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from real_time import until

from interop.apache import Apache
from interop.servers import Servers
from mqframe import Admin, BatchTransactionProducer, Puller
from mqframe.core.messages.names import CHECK_MAX_TIME_TOPIC

pytest.importorskip("mqframe_spark", reason="the Spark plugin is not installed")

import pyarrow as pa
from mqframe_spark.exact import writers as exact_sink
from mqframe_spark.exact.check_back_answers import CheckBackServer, Serving
from mqframe_spark.exact.losses import LostMessages
from mqframe_spark.exact.place import group_of, stream_place
from mqframe_spark.exact.writers import ExactStreamWriter
from mqframe_spark.sink.options import parse_sink_options
from pyspark.sql import types as t

SCHEMA = t.StructType([t.StructField("body", t.BinaryType())])
CONF = "transactionTimeOut=400\ntransactionCheckInterval=200\ntransactionCheckMax=1000\n"
ASKED_SECONDS = 1.5
"""After so long the broker has asked for every half, and made copies of them."""
ROWS = [b"row %d" % number for number in range(30)]


class Crash(BaseException):
    """The process is gone."""


class Query:
    """A streaming query, as Spark runs it."""

    def __init__(self, nameserver: str, topic: str, folder: Path, told: dict[str, str]) -> None:
        self.topic = topic
        self.nameserver = nameserver
        self.given = {
            "nameserver": nameserver,
            "topic": topic,
            "checkpointLocation": str(folder / topic),
            "exactlyOnce": "true",
        }
        self.told = told

    def plan(self) -> bytes:
        return pickle.dumps(ExactStreamWriter(parse_sink_options(self.given), SCHEMA))

    def task(self, plan: bytes, rows: Iterable[bytes], batch: int = 0) -> Any:
        self.told[exact_sink.BATCH_ID] = str(batch)
        writer: ExactStreamWriter = pickle.loads(plan)
        return writer.write(iter([pa.record_batch({"body": pa.array(list(rows), pa.binary())})]))

    def commit(self, messages: list[Any], batch: int = 0) -> None:
        ExactStreamWriter(parse_sink_options(self.given), SCHEMA).commit(messages, batch)

    def bodies(self) -> Counter[bytes]:
        found: Counter[bytes] = Counter()
        with Puller(nameserver=self.nameserver) as puller:
            for queue in puller.queues(self.topic):
                at, end = puller.min_offset(queue), puller.max_offset(queue)
                while at < end:
                    result = puller.pull(queue, at)
                    found.update(message.body for message in result.messages)
                    at = result.next_offset
        return found

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        stopping = threading.Event()
        options = parse_sink_options(self.given)
        place = stream_place(options)
        serving = Serving(options, place.root, group_of(options, place))
        thread = threading.Thread(target=CheckBackServer(serving, stopping).run)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()

    def settle(self, rows: Iterable[bytes]) -> None:
        """All of `rows` come, each once, also after the broker has asked for whatever is open."""
        wanted = Counter(rows)
        with self.answering():
            until(lambda: not wanted - self.bodies())
            time.sleep(ASKED_SECONDS)
        assert self.bodies() == wanted


@pytest.fixture(scope="module")
def patient(newest_class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Apache's servers, whose broker asks soon and does not give up."""
    with Apache(newest_class_path, tmp_path_factory.mktemp("apache-exact"), conf=CONF) as running:
        yield running.servers


@pytest.fixture
def query(
    patient: Servers, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Query:
    """A query with a topic of its own."""
    name = request.node.originalname
    with Admin(nameserver=patient.nameserver) as admin:
        admin.topics.create(name, queues=2)
        until(lambda: name in admin.topics.list())
    told = {exact_sink.QUERY_ID: "3f6e1c9a"}
    monkeypatch.setattr(exact_sink, "told", lambda name, option: told[name])
    monkeypatch.setattr(exact_sink, "ensure_answers", lambda *_: None)
    return Query(patient.nameserver, name, tmp_path, told)


@pytest.fixture
def crash_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], contextlib.AbstractContextManager[None]]:
    """Has the driver's commit crash when it has ended so many halves."""

    @contextlib.contextmanager
    def crashing(count: int) -> Iterator[None]:
        end = BatchTransactionProducer.end

        def ending(self: Any, halves: Iterable[Any], outcome: Any, **more: Any) -> Any:
            if count:
                end(self, list(halves)[:count], outcome, **more)
            raise Crash

        with monkeypatch.context() as patch:
            patch.setattr(BatchTransactionProducer, "end", ending)
            try:
                yield
            except Crash:
                return
        pytest.fail("nothing was ended")

    return crashing


def test_attempts_that_count_and_those_that_do_not(query: Query) -> None:
    plan = query.plan()
    query.task(plan, ROWS)
    message = query.task(plan, ROWS)
    halves = message.attempt().halves
    assert len(halves) == len(ROWS)
    assert not any(half.repeatable for half in halves)
    query.commit([message])
    assert query.bodies() == Counter(ROWS)
    query.settle(ROWS)


@pytest.mark.parametrize("ended", [0, 10])
def test_a_driver_that_crashes_before_its_broker_has_asked(
    query: Query, crash_after: Callable[..., Any], ended: int
) -> None:
    batch = ended  # both runs share a topic, and a checkpoint each
    plan = query.plan()
    rows = [b"%d %s" % (ended, row) for row in ROWS]
    before = query.bodies()
    with crash_after(ended):
        query.commit([query.task(plan, rows, batch)], batch)
    assert (query.bodies() - before).total() == ended
    query.plan()
    query.settle([*before.elements(), *rows])


def test_a_driver_that_crashes_when_its_broker_has_asked(
    query: Query, crash_after: Callable[..., Any]
) -> None:
    """The broker keeps copies of the halves then, and goes on asking for those whose originals were ended."""
    plan = query.plan()
    message = query.task(plan, ROWS)
    with query.answering():
        time.sleep(ASKED_SECONDS)
    with crash_after(10):
        query.commit([message])
    assert query.bodies().total() == 10
    query.plan()
    query.settle(ROWS)


def test_a_commit_after_its_broker_has_asked(query: Query) -> None:
    plan = query.plan()
    message = query.task(plan, ROWS)
    with query.answering():
        time.sleep(ASKED_SECONDS)
    query.commit([message])
    query.settle(ROWS)


def discarded(puller: Puller, topic: str) -> set[bytes]:
    """The bodies of the halves of `topic` that the broker has given up, some of them committed before."""
    found: set[bytes] = set()
    for queue in puller.queues(CHECK_MAX_TIME_TOPIC):
        at, end = puller.min_offset(queue), puller.max_offset(queue)
        while at < end:
            result = puller.pull(queue, at)
            found |= {each.body for each in result.messages if each.properties["REAL_TOPIC"] == topic}
            at = result.next_offset
    return found


def test_a_driver_that_is_back_too_late(
    query: Query, patient: Servers, crash_after: Callable[..., Any]
) -> None:
    plan = query.plan()
    message = query.task(plan, ROWS)
    with crash_after(10):
        query.commit([message])
    with Admin(nameserver=patient.nameserver) as admin:
        admin.brokers.update_config(patient.broker, {"transactionCheckMax": "2"})
        until(lambda: CHECK_MAX_TIME_TOPIC in admin.topics.list())
        with Puller(nameserver=patient.nameserver) as puller:
            until(lambda: set(ROWS) - set(query.bodies()) <= discarded(puller, query.topic))
        admin.brokers.update_config(patient.broker, {"transactionCheckMax": "1000"})
    words = f"batch 0: 20 messages for topic {query.topic} on broker apache-a: discarded"
    with pytest.raises(LostMessages, match=words):
        query.plan()
    query.given["failOnDataLoss"] = "false"
    query.plan()
