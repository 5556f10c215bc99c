"""Dead letters: of what is rejected, and of what is too old."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Exchange, Queue
from kombu import Producer as KombuProducer
from kombu_workers import until
from mqframe_kombu import topic_of

from mqframe import Admin, Message, Producer


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with Connection(url) as made:
        yield made


def drained(connection: Connection, queue: Queue, count: int = 1) -> list[Any]:
    """The next `count` messages of `queue`."""
    found: list[Any] = []
    with Consumer(connection, [queue], on_message=found.append):
        while len(found) < count:
            connection.drain_events(timeout=10)
    return found


def mortal(name: str, **options: Any) -> Queue:
    return Queue(name, queue_arguments={"x-dead-letter-exchange": f"after-{name}"}, **options)


def test_the_first_death_is_told_along(connection: Connection) -> None:
    second = mortal("second", exchange=Exchange("after-first", "topic"), routing_key="#")
    third = Queue("third", Exchange("after-second"), routing_key="first")
    for queue in (second, third):
        queue(connection).declare()
    KombuProducer(connection).publish("x", routing_key="first", declare=[mortal("first")], headers={"a": 1})
    (message,) = drained(connection, mortal("first"))
    message.reject()
    (message,) = drained(connection, second)
    assert message.headers == {"a": 1, "x-first-death-queue": "first", "x-first-death-reason": "rejected"}
    message.reject()
    (last,) = drained(connection, third)
    assert (last.payload, last.headers) == ("x", message.headers)
    assert last.delivery_info == {"exchange": "after-second", "routing_key": "first", "redelivered": False}


def test_what_is_too_old_is_a_dead_letter_where_its_queue_has_them(connection: Connection) -> None:
    graves = Queue("graves", Exchange("after-old", "fanout"))
    graves(connection).declare()
    old = mortal("old", message_ttl=0.03)
    producer = KombuProducer(connection)
    for n in range(3):
        producer.publish(n, routing_key="old", declare=[old], expiration=1000)
    end = time.time() + 0.05
    until(lambda: time.time() > end)
    with (
        Consumer(connection, [old], on_message=lambda message: pytest.fail("came")),
        pytest.raises(socket.timeout),
    ):
        connection.drain_events(timeout=0.3)
    found = drained(connection, graves, 3)
    assert [message.payload for message in found] == [0, 1, 2]
    assert {message.headers["x-first-death-reason"] for message in found} == {"expired"}
    assert all("expiration" not in message.properties for message in found)
    until(lambda: old(connection).queue_declare(passive=True).message_count == 0)


@pytest.mark.parametrize("limit", [0, 2])
def test_what_came_back_too_often_is_a_dead_letter(connection: Connection, limit: int) -> None:
    graves = Queue("graves", Exchange("after-often"), routing_key="often")
    graves(connection).declare()
    often = Queue(
        "often", queue_arguments={"x-dead-letter-exchange": "after-often", "x-delivery-limit": limit}
    )(connection)
    KombuProducer(connection).publish("x", routing_key="often", declare=[often])
    for times in range(limit + 1):
        message = often.get()
        assert message.delivery_info["redelivered"] is bool(times)
        message.requeue()
    assert often.get() is None
    (dead,) = drained(connection, graves)
    assert (dead.payload, dead.headers["x-first-death-reason"]) == ("x", "delivery_limit")
    until(lambda: often.queue_declare(passive=True).message_count == 0)


def test_without_an_exchange_it_is_a_dead_letter_of_the_group(
    connection: Connection, server, url: str
) -> None:
    often = Queue("often", queue_arguments={"x-delivery-limit": 0})(connection)
    KombuProducer(connection).publish("x", routing_key="often", declare=[often], correlation_id="c-1")
    often.get().requeue()
    assert often.get() is None
    topic = topic_of("often", virtual_host=url.rpartition("/")[2])
    with Admin(nameserver=server.nameserver) as admin:
        until(lambda: f"%DLQ%{topic}" in admin.topics.list())
        admin.dead_letters.open(topic)
        (letter,) = until(lambda: admin.dead_letters.list(topic))
    assert letter.message.keys == ["c-1"]


def test_what_cannot_be_read_is_a_dead_letter_of_the_group(connection: Connection, server, url: str) -> None:
    queue = mortal("broken")
    queue(connection).declare()
    topic = topic_of("broken", virtual_host=url.rpartition("/")[2])
    with Producer(group="test", nameserver=server.nameserver) as producer:
        producer.send(Message(topic, b"{", keys=["k-1"], properties={"kombu_headers": "{"}))
    with (
        Consumer(connection, [queue], on_message=lambda message: pytest.fail("came")),
        Admin(nameserver=server.nameserver) as admin,
    ):
        connection.drain_events(timeout=10)
        until(lambda: f"%DLQ%{topic}" in admin.topics.list())
        admin.dead_letters.open(topic)
        (letter,) = until(lambda: admin.dead_letters.list(topic))
    assert letter.message.keys == ["k-1"]
