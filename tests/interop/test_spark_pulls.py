"""The Spark source's readers on Apache's broker and on ours: all that was sent comes, at its offset."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interop.servers import Servers
from mqframe import Message, MessageQueue, Producer

pytest.importorskip("mqframe_spark", reason="the Spark plugin is not installed")

from mqframe_spark.access import parse_access
from mqframe_spark.given import Given
from mqframe_spark.source.broker_reading import BrokerSpanReader
from mqframe_spark.source.options import SourceOptions
from mqframe_spark.source.positions import Span
from mqframe_spark.wire import Remoting

COUNT = 5000


def body_of(number: int) -> bytes:
    """Stretches of one length, and stretches of many."""
    return b"%d " % number * (1 if number % 1000 < 600 else 1 + number % 7)


@pytest.fixture
def queue(servers: Servers, topic: str) -> MessageQueue:
    """A queue with messages that were sent in batches, their tags a and b in turns."""
    queue = MessageQueue(topic, servers.broker_name, 1)
    with Producer("interop", nameserver=servers.nameserver) as producer:
        for first in range(0, COUNT, 250):
            batch = [Message(topic, body_of(n), "ab"[n % 2]) for n in range(first, first + 250)]
            sent = producer.send_batch(batch, queue=queue)
            assert sent.queue_offset == first
    return queue


class CountingRemoting(Remoting):
    """Remembers how many pulls left together."""

    def __init__(self, nameserver: str) -> None:
        super().__init__(nameserver, "TOOLS_CONSUMER", parse_access(Given({}, ())))
        self.together: list[int] = []

    def pull(self, queue, asked, expression):  # type: ignore[no-untyped-def]
        self.together.append(len(asked))
        return super().pull(queue, asked, expression)


@pytest.fixture
def wire(servers: Servers) -> Iterator[CountingRemoting]:
    """What a task asks by."""
    made = CountingRemoting(servers.nameserver)
    yield made
    made.close()


def rows(
    wire: Remoting, queue: MessageQueue, start: int, end: int, **options: str
) -> list[tuple[int, bytes]]:
    chosen = SourceOptions(topics=(queue.topic,), columns=("queue_offset", "body"), **options)
    batches = BrokerSpanReader(wire, chosen, Span(queue, start, end)).batches()
    return [(row["queue_offset"], row["body"]) for batch in batches for row in batch.to_pylist()]


def test_all_of_a_span_is_read(servers: Servers, queue: MessageQueue, wire: CountingRemoting) -> None:
    assert rows(wire, queue, 0, COUNT) == [(n, body_of(n)) for n in range(COUNT)]
    if servers.broker_name == "apache-a":
        # It gives 32 messages at most; they are asked for ahead.
        assert max(wire.together) == 32
        assert len(wire.together) < 10
    else:
        assert sum(wire.together) < 30  # of 32 messages each it would be 157
    for start, end in ((1234, 3456), (COUNT - 1, COUNT)):
        assert rows(wire, queue, start, end) == [(n, body_of(n)) for n in range(start, end)]


def test_tags_are_chosen(queue: MessageQueue, wire: CountingRemoting) -> None:
    assert rows(wire, queue, 100, 2000, tags="b") == [(n, body_of(n)) for n in range(101, 2000, 2)]


def test_an_expression_chooses(queue: MessageQueue, wire: CountingRemoting) -> None:
    found = rows(wire, queue, 100, 1000, sql="TAGS = 'a'")
    assert found == [(n, body_of(n)) for n in range(100, 1000, 2)]
