"""What a connection keeps its promises with: long delays, renewals, the upkeep of temporary queues."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from kombu import Connection, Consumer, Producer, Queue
from kombu_workers import until
from mqframe_kombu import topic_of
from mqframe_kombu.envelope import to_message
from mqframe_kombu.held import Source
from mqframe_kombu.link import Link
from mqframe_kombu.options import TransportOptions

from mqframe import Admin
from mqframe.core.errors import ClosedError, ConnectError


def eta(seconds: float) -> dict[str, str]:
    return {"eta": (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()}


def test_what_is_due_later_comes_at_its_time_and_in_that_order(url: str) -> None:
    with Connection(url) as connection:
        producer = Producer(connection)
        began = time.time()
        for seconds in (1.2, 0.6, -5):
            producer.publish({"after": seconds}, routing_key="q", declare=[Queue("q")], headers=eta(seconds))
        came: list[tuple[float, float]] = []
        take = lambda body, message: came.append((body["after"], time.time() - began))  # noqa: E731
        with Consumer(connection, [Queue("q")], callbacks=[take], no_ack=True):
            for _ in range(3):
                connection.drain_events(timeout=20)
    assert [after for after, _ in came] == [-5, 0.6, 1.2]
    assert all(after <= at < max(after, 0) + 1 for after, at in came)


def test_delays_that_are_too_long_for_the_broker_are_waited_for_in_turns(url: str) -> None:
    with Connection(url, transport_options={"delay_max": 1}) as connection:
        Producer(connection).publish("x", routing_key="q", declare=[Queue("q")], headers=eta(3.5))
        began = time.time()
        found: list = []
        with Consumer(connection, [Queue("q")], on_message=found.append):
            connection.drain_events(timeout=20)
        assert 2.4 < time.time() - began < 5
        assert found[0].headers["eta"]
        assert not found[0].delivery_info["redelivered"]
        found[0].ack()
        until(lambda: Queue("q")(connection).queue_declare(passive=True).message_count == 0)


def test_delays_can_be_left_to_workers(url: str) -> None:
    with Connection(url, transport_options={"delays": False}) as connection:
        Producer(connection).publish("x", routing_key="q", declare=[Queue("q")], headers=eta(1000))
        found: list = []
        with Consumer(connection, [Queue("q")], on_message=found.append):
            connection.drain_events(timeout=10)


def test_what_is_worked_on_is_not_given_to_others(url: str) -> None:
    options = {"visibility_timeout": 1}
    with (
        Connection(url, transport_options=options) as connection,
        Connection(url, transport_options=options) as other,
    ):
        Producer(connection).publish("x", routing_key="q", declare=[Queue("q")])
        found: list = []
        channel = connection.channel()
        consumer = Consumer(channel, [Queue("q")], on_message=found.append)
        consumer.consume()
        connection.drain_events(timeout=10)
        with (
            Consumer(other, [Queue("q")], on_message=lambda message: pytest.fail("came twice")),
            pytest.raises(TimeoutError),
        ):
            other.drain_events(timeout=2.5)
        consumer.cancel()  # what is out stays ours, as a worker that stops finishes its tasks
        with (
            Consumer(other, [Queue("q")], on_message=lambda message: pytest.fail("came twice")),
            pytest.raises(TimeoutError),
        ):
            other.drain_events(timeout=1.5)
        found[0].ack()
        until(lambda: Queue("q")(other).queue_declare(passive=True).message_count == 0)


def test_priorities_are_known_to_who_did_not_declare_them(url: str) -> None:
    with Connection(url) as connection, Connection(url) as other:
        Queue("q", max_priority=9)(connection).declare()
        Producer(other).publish("x", routing_key="q", priority=7)
        host = url.rpartition("/")[2]
        with Admin(nameserver=connection.transport.link.nameserver) as admin:
            stats = admin.topics.stats(topic_of("q", virtual_host=host, step=6))
        assert [offset.max_offset for offset in stats.values()] == [1]


@pytest.mark.parametrize(("most", "step"), [(10, 9), (9, 9), (5, 3), (2, 0), (0, 0)])
def test_no_priority_is_above_that_of_the_queue(url: str, most: int, step: int) -> None:
    with Connection(url) as connection:
        Producer(connection).publish(
            "x", routing_key="q", priority=10, declare=[Queue("q", max_priority=most)]
        )
        with Admin(nameserver=connection.transport.link.nameserver) as admin:
            topic = topic_of("q", virtual_host=url.rpartition("/")[2], step=step)
            assert [offset.max_offset for offset in admin.topics.stats(topic).values()] == [1]


def test_what_waited_for_its_time_is_not_too_old(url: str) -> None:
    source = Source("q", 0, None)  # type: ignore[arg-type]
    born = time.time_ns() // 1_000_000 - 60_000
    with Connection(url) as connection:
        Queue("q", message_ttl=30)(connection).declare()
        link = connection.transport.link
        for headers, expected in ((eta(-1), True), ({}, False), (eta(-40), False)):
            message = to_message("q", {"body": "x", "headers": headers})
            popped = SimpleNamespace(properties=message.properties, body=message.body, born_timestamp=born)
            assert link.call(link.is_for_now(source, popped)) is expected, headers


def test_a_prefix_is_before_all_names(url: str, server) -> None:
    host = url.rpartition("/")[2]
    with Connection(url, transport_options={"queue_name_prefix": "eu."}) as connection:
        Queue("q")(connection).declare()
        with Admin(nameserver=server.nameserver) as admin:
            assert f"{host}%_eu%2Eq" in admin.topics.list()


def test_a_link_ends_once_and_for_all(server) -> None:
    link = Link(server.nameserver, TransportOptions())
    link.start()
    assert link.alive
    assert link.call(link.queues.exists("never declared")) is False
    link.close()
    link.close()
    assert not link.alive
    with pytest.raises(ClosedError, match="open another"):
        link.call(link.queues.exists("q"))
    with pytest.raises(ClosedError):
        _ = link.producer


def test_a_link_to_nobody_does_not_begin() -> None:
    link = Link("127.0.0.1:9", TransportOptions(request_timeout=1))
    with pytest.raises(ConnectError, match=r"no connection to 127\.0\.0\.1:9"):
        link.start()
    assert not link.alive


def test_a_name_server_that_knows_no_broker_yet_is_asked_again_later(tmp_path) -> None:
    command = [sys.executable, "-m", "mqframe", "nameserver", "--port", "0", "--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as alone:
        try:
            assert alone.stdout is not None
            address = alone.stdout.readline().strip().partition("nameserver=")[2]
            # An error that Celery tries again on: the broker may be about to start.
            with pytest.raises(ConnectError, match="no broker is registered"):
                Link(address, TransportOptions()).start()
        finally:
            alone.terminate()
