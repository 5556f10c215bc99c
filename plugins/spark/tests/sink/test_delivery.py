"""Requests on their way: several at once, in order by queue, tried again, given up."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from mqframe_spark.retrying import retrying
from mqframe_spark.sink import delivery
from mqframe_spark.sink.delivery import deliver, find_queues, send_rows
from mqframe_spark.sink.key_bytes import UniqueKeys
from mqframe_spark.sink.options import SinkOptions
from mqframe_spark.sink.outgoing import OutgoingBatches
from mqframe_testing.cluster import Cluster

from mqframe import Admin, Puller
from mqframe.core.errors import AnswerFix, ConnectError, FixError, GiveUpError, RetryError
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.sending.encoding import decode_elements

QUEUES = tuple(MessageQueue("t", "a", number) for number in range(3))
SECONDS_MAX = 120


class Scripted:
    """A producer that fails as it is told: `faults` by the number of the call."""

    def __init__(self, faults: dict[int, Exception] | None = None) -> None:
        self.faults = faults or {}
        self.calls: list[tuple[MessageQueue | None, list[bytes], dict[str, Any]]] = []
        self.lock = threading.Lock()

    def send(self, message: Message, *, queue: MessageQueue | None = None, **delay: Any) -> SendResult:
        return self._take(queue, [message.body], delay)

    def send_encoded(self, topic: str, elements: bytes, *, queue: MessageQueue | None = None) -> SendResult:
        return self._take(queue, [message.body for message in decode_elements(topic, elements)[0]], {})

    def _take(self, queue: MessageQueue | None, bodies: list[bytes], delay: dict[str, Any]) -> SendResult:
        with self.lock:
            self.calls.append((queue, bodies, delay))
            fault = self.faults.get(len(self.calls))
        if fault is not None:
            raise fault
        return SendResult(SendStatus.SEND_OK, "", queue or QUEUES[0], 0)


def run(
    producer: Scripted, *frames: pa.RecordBatch, sleep: Callable[[float], None] = lambda seconds: None
) -> int:
    outgoing = OutgoingBatches(
        SinkOptions("ns:1", topic="t"), lambda topic: QUEUES, UniqueKeys("127.0.0.1@1")
    )
    return deliver(producer, outgoing, frames, 1, where="partition 2", sleep=sleep)


def frame(*bodies: bytes, **columns: Any) -> pa.RecordBatch:
    return pa.record_batch({"body": list(bodies), **columns})


def test_all_rows_are_sent_and_counted() -> None:
    producer = Scripted()
    assert run(producer, frame(b"1", b"2"), frame(b"3" * 5000, b"4", delay_seconds=[None, 2])) == 4
    assert producer.calls == [
        (None, [b"3" * 5000], {}),
        (None, [b"4"], {"delay": 2.0}),
        (None, [b"1", b"2"], {}),
    ]
    assert run(Scripted()) == 0


def test_passing_faults_are_borne_and_order_is_kept() -> None:
    producer = Scripted({1: ConnectError("1"), 2: RetryError("2"), 4: RetryError("4")})
    slept: list[float] = []
    big = frame(b"1" * 5000, b"2" * 5000, b"3" * 5000, sharding_key=["k"] * 3)
    assert run(producer, big, sleep=slept.append) == 3
    assert [bodies[0][:1] for _, bodies, _ in producer.calls] == [b"1", b"1", b"1", b"2", b"2", b"3"]
    assert slept == [0.05, 0.2, 0.05]
    assert len({queue for queue, _, _ in producer.calls}) == 1


def test_a_broker_that_stays_away_is_named() -> None:
    producer = Scripted(dict.fromkeys(range(1, 100), ConnectError("no connection to 10.0.0.9:10911")))
    with pytest.raises(RetryError) as raised:
        run(producer, frame(b"1" * 5000, b"2", sharding_key=["k", "k"]))
    assert str(raised.value) == (
        "partition 2, row 0: nobody confirmed them for topic t, queue a/2: no connection to 10.0.0.9:10911"
    )
    assert len(producer.calls) == 5


def test_what_a_broker_refuses_is_not_tried_again() -> None:
    producer = Scripted({1: AnswerFix(13, "the message body is too large", "10.0.0.9:10911")})
    with pytest.raises(FixError, match=r"partition 2, one of rows 0 to 1: .* topic t: .*too large"):
        run(producer, frame(b"1", b"2"))
    assert len(producer.calls) == 1


def test_a_producer_that_was_stopped() -> None:
    with pytest.raises(GiveUpError, match="partition 2, row 0"):
        run(Scripted({1: GiveUpError("stopped")}), frame(b"1"))


def test_a_bad_row_stops_the_task_after_those_before_it() -> None:
    producer = Scripted()
    with pytest.raises(FixError, match="row 1: column body is null"):
        run(producer, frame(b"1" * 5000), pa.record_batch({"body": pa.array([None], pa.binary())}))
    assert len(producer.calls) <= 1


def stored(nameserver: str, topic: str) -> list[bytes]:
    found: list[bytes] = []
    with Puller(nameserver=nameserver) as puller:
        for queue in puller.queues(topic):
            at, end = puller.min_offset(queue), puller.max_offset(queue)
            while at < end:
                result = puller.pull(queue, at)
                found += [message.body for message in result.messages]
                at = result.next_offset
    return found


def test_no_rows_open_no_connection() -> None:
    nowhere = SinkOptions("127.0.0.1:1", "t")
    assert send_rows(nowhere, []) == 0
    assert send_rows(nowhere, [frame(b"x").slice(0, 0)] * 2) == 0


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "retrying", partial(retrying, pauses=()))


@pytest.mark.usefixtures("impatient")
def test_through_a_real_producer() -> None:
    with (
        Cluster(store={"body_bytes_max": 100_000}) as cluster,
        Admin(nameserver=cluster.nameserver) as admin,
    ):
        admin.topics.create("real", queues=2)
        options = SinkOptions(cluster.nameserver, "real", compress_over_bytes=200_000)
        bodies = [b"body %d" % number for number in range(5000)]
        assert send_rows(options, [frame(*bodies[:3000]), frame(*bodies[3000:])]) == 5000
        assert sorted(stored(cluster.nameserver, "real")) == sorted(bodies)
        with pytest.raises(FixError, match=r"p, row 0: .* topic real: .*answered 13"):
            send_rows(options, [frame(b"x" * 150_000)], where="p")
        both = frame(b"x", b"y", topic=["real", "missing"])
        with pytest.raises(FixError, match="row 1: column topic = 'missing': no name server knows it"):
            send_rows(SinkOptions(cluster.nameserver), [both])
        assert "missing" not in admin.topics.list()
        cluster.kill_broker()
        with pytest.raises(RetryError, match=r"topic real was deleted, or its brokers are away: .*real"):
            send_rows(options, [frame(b"x")])


@pytest.mark.usefixtures("impatient")
def test_a_broker_that_goes_away_meanwhile() -> None:
    with Cluster() as cluster:
        cluster.create_topic("gone", queues=2)
        address = cluster.cluster.broker.address

        def frames() -> Iterator[pa.RecordBatch]:
            yield frame(*[b"%d" % number * 1000 for number in range(1000)])
            cluster.kill_broker()
            yield frame(*[b"y" * 1000] * 1000)

        with pytest.raises(RetryError, match=rf"p, one of rows \d+ to \d+: .* topic gone: .*{address}"):
            send_rows(SinkOptions(cluster.nameserver, "gone"), frames(), where="p")


class Forgetful:
    """A name server that does not know a topic at first."""

    def __init__(self, wire: Any, times: int) -> None:
        self.wire = wire
        self.times = times

    def route(self, topic: str) -> Any:
        self.times -= 1
        if self.times >= 0:
            raise FixError(f"no topic {topic}")
        return self.wire.route(topic)


def test_a_topic_that_comes_back_is_waited_for(wire: Any) -> None:
    queues = [wire.add(number, 0) for number in range(2)]
    slept: list[float] = []
    assert list(find_queues(Forgetful(wire, 2), "t", sleep=slept.append)) == queues  # type: ignore[arg-type]
    assert slept == [0.05, 0.2]
    with pytest.raises(RetryError, match="topic t was deleted, or its brokers are away: no topic t"):
        find_queues(Forgetful(wire, 5), "t", sleep=slept.append)  # type: ignore[arg-type]
    wire.masterless.add("a")
    with pytest.raises(RetryError, match="topic t has no queue to write"):
        find_queues(wire, "t", sleep=slept.append)
