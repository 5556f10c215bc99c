"""What one producer can send: what each kind of send asks of the broker, and who waits how long for what.

Delays and recalls also by both APIs, on a broker in this process and a clock that the test moves.
"""

from __future__ import annotations

import random
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from client.sending.scripted_transport import ScriptedTransport
from mqframe_testing.cluster import AsyncCluster, Cluster
from mqframe_testing.manual_clock import ManualClock

from mqframe import AsyncProducer, Message, MessageQueue, Producer
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.producer_parts import ProducerParts, ProducerStrategies
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.cluster.route_bodies import QueueData
from mqframe.core.delay.recall_handle import recall_handle
from mqframe.core.errors import AnswerError, ConnectionLost, MessageError, RouteError, TooMuchInFlight
from mqframe.core.messages.properties import decode_properties, encode_properties
from mqframe.core.requests.messages import RecallMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import QueueSelector, SendHook

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def stored(cluster, topic="orders"):
    found = cluster.broker.store.reads.get(topic, 0, 0, 100)
    return [record.body for part in found.parts for record in decode_records(part)]


@asynccontextmanager
async def staged():
    clock = ManualClock()
    async with AsyncCluster(clock=clock) as cluster:
        await cluster.create_topic("orders", 1)
        async with AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock) as producer:
            yield (cluster, clock, producer)


@pytest.fixture
def world():
    clock = ManualClock()
    with Cluster(clock=clock) as cluster:
        cluster.create_topic("orders", 1)
        with Producer("shop", nameserver=cluster.nameserver) as producer:
            yield cluster, clock, producer


WISHES = [
    ({"delay": 3}, 3.0),
    ({"delay": timedelta(seconds=2, milliseconds=1)}, 3.0),
    ({"deliver_at": START + timedelta(seconds=4)}, 4.0),
    ({"deliver_at": 1_700_000_005_000}, 5.0),
    ({"delay_level": 2}, 5.0),
]


@pytest.mark.parametrize(("wish", "after"), WISHES)
async def test_a_message_comes_later(wish, after):
    async with staged() as (cluster, clock, producer):
        sent = await producer.send(Message("orders", b"later", tag="a", keys=["k"]), **wish)
        assert bool(sent.recall_handle) == ("delay_level" not in wish)
        await producer.send_oneway(Message("orders", b"oneway"), **wish)
        await clock.aadvance(after - 0.001)
        assert stored(cluster) == []
        await clock.aadvance(0.5)
        assert sorted(stored(cluster)) == [b"later", b"oneway"]


def test_plain_threads_do_the_same(world):
    cluster, clock, producer = world
    for wish, _ in WISHES:
        producer.send(Message("orders", repr(wish).encode()), **wish)
    producer.send_oneway(Message("orders", b"oneway"), delay=1)
    gone = producer.send(Message("orders", b"gone"), delay=timedelta(seconds=4))
    assert producer.recall("orders", gone.recall_handle) == gone.message_id
    clock.advance_from_outside(cluster.loop, 2.5)
    clock.advance_from_outside(cluster.loop, 2.5)
    assert sorted(stored(cluster)) == sorted([*(repr(wish).encode() for wish, _ in WISHES), b"oneway"])


async def test_a_recalled_message_does_not_come():
    async with staged() as (cluster, clock, producer):
        gone = await producer.send(Message("orders", b"gone"), delay=60)
        await producer.send(Message("orders", b"stays"), delay=60)
        await clock.aadvance(30)
        assert await producer.recall("orders", gone.recall_handle) == gone.message_id
        await clock.aadvance(31)
        assert stored(cluster) == [b"stays"]
        with pytest.raises(AnswerError) as refused:
            await producer.recall("orders", gone.recall_handle)
        assert refused.value.code == 604
        assert stored(cluster) == [b"stays"]


async def test_a_recall_that_cannot_be():
    async with staged() as (_cluster, clock, producer):
        for handle in ("", "x", None, "ä"):
            with pytest.raises(MessageError, match="no recall handle"):
                await producer.recall("orders", handle)
        handle = recall_handle("orders", "broker-z", 1_700_000_009_000, "u")
        with pytest.raises(RouteError, match="broker-z"):
            await clock.finish(producer.recall("orders", handle))


def test_wishes_that_cannot_be(world):
    cluster, clock, producer = world
    message = Message("orders", b"x")
    with pytest.raises(MessageError, match="give one of"):
        producer.send(message, delay=1, delay_level=1)
    with pytest.raises(MessageError, match="cannot be negative"):
        producer.send_oneway(message, delay=-1)
    with pytest.raises(MessageError, match="is empty"):
        producer.send(Message("orders", b""), delay=1)
    with pytest.raises(AnswerError, match="timerMaxDelaySec") as refused:
        producer.send(message, delay=timedelta(days=3, seconds=1))
    assert refused.value.code == 13
    clock.advance_from_outside(cluster.loop, 1)
    assert stored(cluster) == []


async def test_long_properties_leave_room_for_the_wish():
    async with staged() as (_cluster, _clock, producer):
        message = Message("orders", b"x", properties={"long": "x" * 32_700})
        with pytest.raises(MessageError, match="32767 are allowed"):
            await producer.send(message, delay=1)


class Limit:
    """A limit that lets in while `room` says so, and after a wait of `seconds`."""

    def __init__(self, clock):
        self.clock = clock
        self.room = True
        self.seconds = 0.0
        self.seen = []

    def acquire(self, size):
        self.seen.append(("acquire", size))
        return self.room

    async def wait(self, size, seconds):
        self.seen.append(("wait", size, seconds))
        if self.seconds > seconds:
            raise TooMuchInFlight("no room")
        self.clock.advance(self.seconds)

    def release(self, size, count=1):
        self.seen.append(("release", size))


class Watch(SendHook):
    name = "watch"

    def __init__(self):
        self.seen = []

    def before(self, context):
        self.seen.append([(m.topic, m.body, dict(m.properties)) for m in context.messages])


class ByNumber(QueueSelector):
    def select(self, queues, message, key):
        return queues[key]


class Sends:
    """A `SendApi` over a transport whose answers are scripted."""

    def __init__(self, *script, hooks=(), seconds=0.0, **settings):
        self.clock = ManualClock()
        self.transport = ScriptedTransport(self.clock, *script, seconds=seconds)
        parts = ProducerParts("shop", ProducerSettings(**settings), ProducerStrategies(send_hooks=hooks))
        pipeline = parts.pipeline(self.transport, self.clock, random.Random(4), "10.1.2.3", ClientSettings())
        self.limit = Limit(self.clock)
        self.api = SendApi(parts, pipeline, self.limit)

    def one(self, body=b"x", *, queue=None, selector=None, key=None, timeout=None):
        return run_blocking(self.api.one(Message("t", body), queue, selector, key, timeout))

    @property
    def places(self):
        return [(address, request.queue_id) for address, request, *_ in self.transport.asked]


ONE_QUEUE = MessageQueue("t", "b", 0)


class TestWhere:
    def test_a_free_message_is_tried_elsewhere_a_bound_one_is_not(self):
        sends = Sends(ConnectionLost("it went"))
        assert sends.one().status.name == "SEND_OK"
        assert len(set(sends.places)) == 2
        for bound in ({"queue": ONE_QUEUE}, {"selector": ByNumber(), "key": 1}):
            sends = Sends(ConnectionLost("it went"))
            with pytest.raises(ConnectionLost):
                sends.one(**bound)
            assert sends.places == [("b:10911", 0)]

    def test_a_oneway_send_goes_where_it_is_bound_or_anywhere(self):
        sends = Sends()
        for _ in range(4):
            run_blocking(sends.api.oneway(Message("t", b"x"), None, None, None, None))
        assert sorted(sends.transport.brokers) == ["a", "a", "b", "b"]
        run_blocking(sends.api.oneway(Message("t", b"x"), ONE_QUEUE, None, None, None))
        assert sends.places[4:] == [("b:10911", 0)]

    def test_a_route_without_queues_to_write_is_asked_for_again(self):
        sends = Sends()
        readable = [QueueData(name, perm=4, read_queue_nums=1, write_queue_nums=1) for name in "ab"]
        data = msgspec.structs.replace(sends.transport.route.data, queue_datas=readable)
        for known in (None, TopicRoute("t", data)):
            sends.transport.known_route = lambda topic, known=known: known
            sends.one()
        assert sends.transport.routes_asked == 2
        sends.transport.known_route = lambda topic: sends.transport.route
        sends.one()
        assert sends.transport.routes_asked == 2


class TestLimits:
    def test_what_waits_for_its_answer_is_counted_by_its_size(self):
        sends = Sends(Frame(13, remark="too large"))
        with pytest.raises(AnswerError):
            sends.one(b"12345")
        assert sends.limit.seen == [("acquire", 5), ("release", 5)]
        sends.limit.seen.clear()
        messages = [Message("t", b"a"), Message("t", b"b")]
        run_blocking(sends.api.batch(messages, ONE_QUEUE, None, None, None))
        [(_, _, body, _)] = sends.transport.asked[1:]
        assert sends.limit.seen == [("acquire", len(body)), ("release", len(body))]

    def test_the_wait_for_room_is_part_of_the_time_of_the_send(self):
        sends = Sends(send_timeout_seconds=7.0)
        sends.limit.room, sends.limit.seconds = False, 5.0
        sends.one(b"x", queue=ONE_QUEUE)
        [(*_, left)] = sends.transport.asked
        assert (sends.limit.seen, left) == ([("acquire", 1), ("wait", 1, 7.0), ("release", 1)], 2.0)
        sends.limit.seen.clear()
        with pytest.raises(TooMuchInFlight):
            sends.one(b"x", timeout=4.0)
        assert sends.limit.seen == [("acquire", 1), ("wait", 1, 4.0)], "what was not let in is not let out"

    def test_what_cannot_be_sent_takes_no_room(self):
        sends = Sends(body_bytes_max=10)
        bad = [
            lambda: sends.one(b""),
            lambda: sends.one(b"x" * 11),
            lambda: run_blocking(sends.api.batch([], None, None, None, None)),
            lambda: run_blocking(sends.api.encoded("SCHEDULE_TOPIC_XXXX", b"x", None, None)),
            lambda: run_blocking(sends.api.encoded("t", b"", None, None)),
        ]
        for send in bad:
            with pytest.raises(MessageError):
                send()
        assert (sends.limit.seen, sends.transport.asked) == ([], [])


class TestWishes:
    @pytest.mark.parametrize("way", ["delayed", "oneway"])
    def test_hooks_see_what_is_asked_of_the_broker_and_so_does_the_broker(self, way):
        watch = Watch()
        sends = Sends(hooks=[watch])
        message = Message("t", b"x", properties={"own": "1"})
        extra = encode_properties({"TIMER_DELAY_SEC": "3"})
        if way == "delayed":
            run_blocking(sends.api.delayed(message, extra, ONE_QUEUE, None, None, None))
        else:
            run_blocking(sends.api.oneway(message, ONE_QUEUE, None, None, None, extra))
        [(_, request, _, _)] = sends.transport.asked
        stored = decode_properties(request.properties)
        assert (stored["own"], stored["TIMER_DELAY_SEC"]) == ("1", "3")
        assert watch.seen == [[("t", b"x", {"own": "1", "TIMER_DELAY_SEC": "3"})]]
        assert message.properties == {"own": "1"}


class TestRecalls:
    HANDLE = recall_handle("t", "b", 1_700_000_009_000, "u1")

    def test_a_recall_goes_to_the_broker_of_its_handle(self):
        sends = Sends(Frame(0, ext={"msgId": "u1"}), Frame(0))
        assert run_blocking(sends.api.recall("t", self.HANDLE, 2.5)) == "u1"
        assert run_blocking(sends.api.recall("t", self.HANDLE, None)) == ""
        [(address, request, _, seconds), (*_, default)] = sends.transport.asked
        assert (address, request) == ("b:10911", RecallMessage("t", self.HANDLE, "shop"))
        assert (seconds, default) == (2.5, ProducerSettings().send_timeout_seconds)

    def test_looking_for_the_route_is_part_of_its_time(self):
        sends = Sends(Frame(0))

        async def find_route(topic, seconds):
            sends.clock.advance(1.0)
            return sends.transport.route

        sends.transport.known_route = lambda topic: None
        sends.transport.find_route = find_route
        run_blocking(sends.api.recall("t", self.HANDLE, 2.5))
        [(*_, seconds)] = sends.transport.asked
        assert seconds == 1.5

    def test_a_refused_one_says_why(self):
        sends = Sends(Frame(604, remark="too late"))
        with pytest.raises(AnswerError, match="too late") as caught:
            run_blocking(sends.api.recall("t", self.HANDLE, None))
        assert (caught.value.code, caught.value.address) == (604, "b:10911")
