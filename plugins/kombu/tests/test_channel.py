"""Channels on a real broker: all that kombu asks of one, and what is kept between processes."""

from __future__ import annotations

import socket
import time

import pytest
from kombu import Connection, Consumer, Exchange, Producer, Queue
from kombu.exceptions import ChannelError
from kombu_workers import until

from mqframe import Admin
from mqframe.core.errors import FixError


@pytest.fixture
def connection(url: str):
    with Connection(url) as made:
        yield made


@pytest.fixture
def other(url: str):
    """Another process, as far as brokers know."""
    with Connection(url) as made:
        yield made


def drained(connection: Connection, *queues: Queue, count: int, ack: bool = True, **options) -> list:
    """The first `count` messages of `queues`, in the order in which they come."""
    found: list = []

    def take(message) -> None:
        found.append(message)
        if ack:
            message.ack()

    with Consumer(
        connection, list(queues), on_message=take, accept=["json", "pickle", "text/plain"], **options
    ):
        while len(found) < count:
            connection.drain_events(timeout=10)
    return found


def nothing(connection: Connection, *queues: Queue) -> None:
    with (
        Consumer(connection, list(queues), on_message=lambda message: pytest.fail(f"{message!r} came")),
        pytest.raises(socket.timeout),
    ):
        connection.drain_events(timeout=0.15)


def test_messages_come_in_order_with_all_that_was_sent(connection, other) -> None:
    queue = Queue("a.queue@here", Exchange("ex"), routing_key="key")
    producer = Producer(connection)
    for n in range(40):
        producer.publish({"n": n}, exchange=queue.exchange, routing_key="key", declare=[queue],
                         headers={"h": n}, correlation_id=f"c{n}", reply_to="r")  # fmt: skip
    found = drained(other, queue, count=40)
    assert [message.payload["n"] for message in found] == list(range(40))
    assert found[3].headers == {"h": 3}
    assert found[3].properties["correlation_id"] == "c3"
    assert found[3].properties["reply_to"] == "r"
    assert found[3].delivery_info == {"exchange": "ex", "routing_key": "key", "redelivered": False}
    assert found[3].content_type == "application/json"


@pytest.mark.parametrize(
    ("serializer", "compression"), [("json", None), ("pickle", None), ("json", "gzip"), ("pickle", "bzip2")]
)
def test_bodies_of_all_kinds_come_as_they_were(connection, serializer: str, compression: str | None) -> None:
    queue = Queue("bodies")
    bodies = ["", {"ü": [1, None, 2.5]}, "x" * 50_000]
    with connection.channel() as channel:
        producer = Producer(channel, serializer=serializer, compression=compression)
        for body in bodies:
            producer.publish(body, routing_key="bodies", declare=[queue])
    assert [message.payload for message in drained(connection, queue, count=3)] == bodies


def test_raw_text_and_bytes_come_as_they_were(connection) -> None:
    queue = Queue("raw")
    producer = Producer(connection)
    producer.publish("täxt", routing_key="raw", declare=[queue])
    producer.publish(
        b"\x00\xff", routing_key="raw", content_type="application/data", content_encoding="binary"
    )
    found = drained(connection, queue, count=2)
    assert [message.payload for message in found] == ["täxt", b"\x00\xff"]


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [("direct", "x", "a"), ("topic", "y.1", "bc"), ("fanout", "z", "abc"), ("direct", "nobody", "")],
)
def test_exchanges_route_what_other_processes_bound(connection, other, kind: str, key: str, expected) -> None:
    exchange = Exchange(f"ex-{kind}", kind)
    keys = {"a": "x", "b": "y.*", "c": "#"}
    queues = {name: Queue(name, exchange, routing_key=keys[name]) for name in keys}
    for queue in queues.values():
        queue(other).declare()
    # By its name only: the type is known from the other process.
    Producer(connection).publish(kind, exchange=exchange.name, routing_key=key)
    for name in expected:
        assert [message.payload for message in drained(connection, queues[name], count=1)] == [kind]
    sizes = {
        name: queue(connection).queue_declare(passive=True).message_count for name, queue in queues.items()
    }
    assert sizes == {"a": 0, "b": 0, "c": 0}


def test_bindings_can_be_undone_and_exchanges_deleted(connection, other) -> None:
    exchange = Exchange("ex", "fanout")
    queue = Queue("a", exchange)(other)
    queue.declare()
    assert connection.default_channel.list_bindings() == [("a", "ex", "")]
    queue.unbind_from(exchange)
    assert connection.default_channel.get_exchanges() == []
    Producer(connection).publish("lost", exchange="ex")
    nothing(connection, queue)
    exchange(other).delete()
    with pytest.raises(ChannelError, match="NOT_FOUND - no exchange 'ex'"):
        exchange(connection).declare(passive=True)
    with pytest.raises(ChannelError, match="no exchange 'never'"):
        connection.default_channel.queue_bind("a", "never")


def test_an_exchange_keeps_its_type(connection, other) -> None:
    Exchange("ex", "topic")(connection).declare()
    with pytest.raises(ChannelError, match="'ex' is of the type 'topic'"):
        Exchange("ex", "direct")(other).declare()
    with pytest.raises(FixError, match="'headers'"):
        Exchange("heads", "headers")(connection).declare()


def test_queues_that_are_not_there(connection) -> None:
    queue = Queue("nowhere")(connection)
    with pytest.raises(ChannelError, match="NOT_FOUND - no queue 'nowhere'"):
        queue.queue_declare(passive=True)
    with pytest.raises(ChannelError, match="NOT_FOUND"):
        queue.consume("tag", callback=print)
    Producer(connection).publish("dropped", routing_key="nowhere")
    with pytest.raises(ChannelError):
        queue.queue_declare(passive=True)
    assert queue.delete() == 0


def test_a_dead_letter_queue_gets_what_is_for_nobody(url: str) -> None:
    with Connection(url, transport_options={"deadletter_queue": "lost"}) as connection:
        Producer(connection).publish("x", routing_key="nowhere")
        assert [each.payload for each in drained(connection, Queue("lost"), count=1)] == ["x"]


def test_what_is_given_back_comes_again_and_what_is_rejected_does_not(connection, server) -> None:
    simple = connection.SimpleQueue("simple")
    simple.put("a")
    message = simple.get(timeout=10)
    assert not message.delivery_info["redelivered"]
    message.requeue()
    message = simple.get(timeout=10)
    assert message.delivery_info["redelivered"]
    message.reject()
    until(lambda: simple.qsize() == 0)
    with pytest.raises(simple.Empty):
        simple.get(timeout=0.1)
    simple.close()


def test_get_takes_what_is_there(connection, other) -> None:
    queue = Queue("simple")(connection)
    queue.declare()
    assert queue.get() is None
    Producer(other).publish("a", routing_key="simple")
    assert queue.get().payload == "a"
    assert queue.get() is None
    Producer(other).publish("b", routing_key="simple")
    assert queue.get(no_ack=True).payload == "b"
    connection.default_channel.basic_recover(requeue=True)
    message = queue.get()
    assert message.payload == "a"
    message.ack()
    until(lambda: queue.queue_declare(passive=True).message_count == 0)
    with pytest.raises(NotImplementedError, match="requeue=True"):
        connection.default_channel.basic_recover()


def test_acknowledging_several_at_once(connection) -> None:
    queue = Queue("several")
    producer = Producer(connection)
    for n in range(5):
        producer.publish(n, routing_key="several", declare=[queue])
    with connection.channel() as channel:
        found: list = []
        with Consumer(channel, [queue], on_message=found.append):
            while len(found) < 5:
                connection.drain_events(timeout=10)
            channel.basic_ack(found[3].delivery_tag, multiple=True)
            channel.basic_ack(found[3].delivery_tag)
    assert [message.payload for message in drained(connection, queue, count=1)] == [4]


@pytest.mark.parametrize("count", [1, 3])
def test_no_more_are_out_than_the_prefetch_count(connection, count: int) -> None:
    names = ["one", "two"]
    queues = [Queue(name) for name in names]
    producer = Producer(connection)
    for n in range(10):
        producer.publish(n, routing_key=names[n % 2], declare=queues)
    found: list = []
    with Consumer(connection.channel(), queues, on_message=found.append, prefetch_count=count):
        for _ in range(count):
            connection.drain_events(timeout=10)
        with pytest.raises(socket.timeout):
            connection.drain_events(timeout=0.2)
        done = 0
        while done < 10:
            found[done].ack()
            done += 1
            if done + count <= 10:
                connection.drain_events(timeout=10)
                assert len(found) == done + count
    assert sorted(message.payload for message in found) == list(range(10))


def test_what_waits_beyond_the_prefetch_count_goes_to_others(connection, other) -> None:
    queues = [Queue("one"), Queue("two")]
    found: list = []
    with Consumer(connection.channel(), queues, on_message=found.append, prefetch_count=1):
        with pytest.raises(socket.timeout):
            connection.drain_events(timeout=0.1)  # requests for both queues are held by the broker now
        producer = Producer(other)
        producer.publish("first", routing_key="one")
        connection.drain_events(timeout=10)
        producer.publish("second", routing_key="two")
        (second,) = drained(other, queues[1], count=1)
        assert second.payload == "second"
        assert [message.payload for message in found] == ["first"]


def test_higher_priorities_come_first(connection, other) -> None:
    queue = Queue("urgent", max_priority=10)
    queue(connection).declare()
    producer = Producer(other)
    for n, priority in enumerate([0, 3, 9, 4, None, 6, 9, 1]):
        producer.publish([n, priority], routing_key="urgent", priority=priority)
    assert queue(connection).queue_declare(passive=True).message_count == 8
    found = [message.payload for message in drained(connection, queue, count=8, prefetch_count=1)]
    # Steps are 0, 3, 6 and 9; within one it is first come, first served.
    assert found == [[2, 9], [6, 9], [5, 6], [1, 3], [3, 4], [0, 0], [4, None], [7, 1]]


def test_without_priorities_it_is_first_come_first_served(connection) -> None:
    producer = Producer(connection)
    for n in range(4):
        producer.publish(n, routing_key="plain", declare=[Queue("plain")], priority=n)
    assert [message.payload for message in drained(connection, Queue("plain"), count=4)] == [0, 1, 2, 3]


def test_messages_that_are_too_old_are_dropped(connection) -> None:
    queue = Queue("old", message_ttl=0.03)
    producer = Producer(connection)
    producer.publish("by the queue", routing_key="old", declare=[queue])
    producer.publish("by itself", routing_key="young", declare=[Queue("young")], expiration=0.03)
    producer.publish("kept", routing_key="young", expiration=1000)
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 0.05)
    nothing(connection, queue)
    assert [message.payload for message in drained(connection, Queue("young"), count=1)] == ["kept"]
    until(lambda: queue(connection).queue_declare(passive=True).message_count == 0)


def test_a_dead_letter_exchange_gets_what_is_rejected(connection) -> None:
    graves = Queue("graves", Exchange("deaths", "topic"), routing_key="#")
    graves(connection).declare()
    queue = Queue(
        "mortal",
        queue_arguments={"x-dead-letter-exchange": "deaths", "x-dead-letter-routing-key": "from.mortal"},
    )
    Producer(connection).publish("x", routing_key="mortal", declare=[queue], headers={"a": 1})
    (message,) = drained(connection, queue, count=1, ack=False)
    message.reject()
    (dead,) = drained(connection, graves, count=1)
    assert dead.payload == "x"
    assert dead.headers == {"a": 1, "x-first-death-queue": "mortal", "x-first-death-reason": "rejected"}
    assert dead.delivery_info["routing_key"] == "from.mortal"


def test_purging_and_deleting_say_how_many_there_were(connection) -> None:
    queue = Queue("full")(connection)
    producer = Producer(connection)
    for n in range(3):
        producer.publish(n, routing_key="full", declare=[queue])
    assert queue.queue_declare(passive=True).message_count == 3
    assert queue.purge() == 3
    assert queue.purge() == 0
    producer.publish("x", routing_key="full")
    assert queue.delete(if_empty=True) == 0
    with Consumer(connection, [queue]):
        assert queue.delete(if_unused=True) == 0
    assert queue.delete(if_unused=True) == 1
    with pytest.raises(ChannelError):
        queue.queue_declare(passive=True)


@pytest.mark.parametrize("priority", [None, 10])
def test_what_a_consumer_that_left_had_is_there_at_once(connection, priority: int | None) -> None:
    queue = Queue("left", max_priority=priority)(connection)
    producer = Producer(connection)
    for n in range(3):
        producer.publish(n, routing_key="left", declare=[queue], priority=n * 3)

    def leave() -> None:
        with Consumer(connection, [queue], on_message=lambda message: None):
            connection.drain_events(timeout=10)
        connection.default_channel.basic_recover(requeue=True)

    leave()
    assert (queue.delete(if_empty=True), queue.queue_declare(passive=True).message_count) == (0, 3)
    assert sorted(queue.get(no_ack=True).payload for _ in range(3)) == [0, 1, 2]
    producer.publish(3, routing_key="left")
    leave()
    assert queue.purge() == 1
    assert queue.get() is None


@pytest.mark.parametrize("hold", ["consumed", "asked for"])
def test_who_only_settles_or_asks_for_one_does_not_use_a_queue(connection, other, hold: str) -> None:
    queue = Queue("held")(connection)
    Producer(connection).publish("x", routing_key="held", declare=[queue])
    held = [queue.get()] if hold == "asked for" else drained(connection, queue, count=1, ack=False)
    assert [message.payload for message in held] == ["x"]
    with Consumer(other, [Queue("held")]):
        queue.delete(if_unused=True)
        queue.queue_declare(passive=True)
    queue.delete(if_unused=True)
    with pytest.raises(ChannelError):
        queue.queue_declare(passive=True)


def test_temporary_queues_go_with_their_consumers(url: str, server) -> None:
    host = url.rpartition("/")[2]

    def topics() -> list[str]:
        with Admin(nameserver=server.nameserver) as admin:
            return [topic for topic in admin.topics.list() if f"{host}%_" in topic]

    with Connection(url) as connection:
        buffer = connection.SimpleBuffer("buffer")
        buffer.put("x")
        assert buffer.get(timeout=10).payload == "x"
        assert f"{host}%_buffer" in topics()
        buffer.close()
        assert topics() == []
        Queue("mine", exclusive=True, durable=False)(connection).declare()
        assert topics() == [f"{host}%_mine"]
    assert topics() == []


def test_two_consumers_of_a_queue_take_turns(connection) -> None:
    queue = Queue("shared")
    producer = Producer(connection)
    for n in range(4):
        producer.publish(n, routing_key="shared", declare=[queue])
    seen: dict[str, list[int]] = {"a": [], "b": []}
    with connection.channel() as channel:
        bound = queue(channel)
        for name, mine in seen.items():
            bound.consume(
                name, callback=lambda message, mine=mine: (mine.append(message.payload), message.ack())
            )
        for _ in range(4):
            connection.drain_events(timeout=10)
        bound.cancel("a")
        producer.publish(4, routing_key="shared")
        connection.drain_events(timeout=10)
    assert [sorted(each) for each in seen.values()] == [[0, 2], [1, 3, 4]]


def test_what_a_channel_held_is_there_again_when_it_is_closed(connection, other) -> None:
    queue = Queue("held")
    for n in range(6):
        Producer(connection).publish(n, routing_key="held", declare=[queue])
    found: list = []
    channel = connection.channel()
    with Consumer(channel, [queue], on_message=found.append, prefetch_count=4):
        for _ in range(2):
            connection.drain_events(timeout=10)
        found[0].ack()
    channel.close()
    assert sorted(message.payload for message in drained(other, queue, count=5)) == [1, 2, 3, 4, 5]


def test_a_topic_that_somebody_deleted_is_made_again(connection, url: str, server) -> None:
    queue = Queue("gone")(connection)
    queue.declare()
    with Admin(nameserver=server.nameserver) as admin:
        admin.topics.delete(f"{url.rpartition('/')[2]}%_gone")
    Producer(connection).publish("x", routing_key="gone")
    assert [message.payload for message in drained(connection, queue, count=1)] == ["x"]
