#!/usr/bin/env python3
"""What confluent-kafka takes of the client's processor for a message of 100 B, beside `python_client.py`.

    uv run --with confluent-kafka python bench/librdkafka_client.py [--count N] [--rounds N]

Against the mock broker that librdkafka has in it, whose threads are left out of the figures. Prints medians.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

BODY = b"x" * 100
TOPIC = "bench"


def processor_seconds() -> float:
    """Of all threads of this process but those of the mock broker."""
    total = 0.0
    for thread in pathlib.Path("/proc/self/task").iterdir():
        if "mock" not in (thread / "comm").read_text():
            total += int((thread / "schedstat").read_text().split()[0]) / 1e9
    return total


def produce(producer: Producer, count: int, told: bool) -> int:
    delivered = 0

    def note(error: object, message: object) -> None:
        nonlocal delivered
        assert error is None, error
        delivered += 1

    for number in range(count):
        producer.produce(TOPIC, BODY, on_delivery=note if told else None)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush(60)
    assert not told or delivered == count
    return count


def begun(servers: str, partitions: list[TopicPartition]) -> Any:
    """A consumer that has its first message."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": f"g{time.time_ns()}", "auto.offset.reset": "earliest"}
    )
    consumer.assign(partitions)
    assert consumer.poll(20) is not None
    return consumer


def taken(consumer: Any, count: int, batch: int) -> int:
    seen = 0
    while seen < count:
        messages = [consumer.poll(5)] if batch == 1 else consumer.consume(batch, 5)
        if not messages or messages[0] is None:
            break
        for message in messages:
            message.value()
        seen += len(messages)
    consumer.close()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    producer = Producer(
        {
            "test.mock.num.brokers": 1,
            "bootstrap.servers": "mock",
            "linger.ms": 5,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    found: dict[str, list[float]] = {}

    def timed(what: str, work: Callable[[], int]) -> None:
        before = processor_seconds()
        count = work()
        found.setdefault(what, []).append((processor_seconds() - before) / max(1, count) * 1e6)

    for _ in range(arguments.rounds):
        timed("produced", lambda: produce(producer, arguments.count, told=False))
        timed("produced, reports of delivery", lambda: produce(producer, arguments.count, told=True))
    metadata = producer.list_topics()
    broker = next(iter(metadata.brokers.values()))
    partitions = [TopicPartition(TOPIC, number, 0) for number in metadata.topics[TOPIC].partitions]
    for _ in range(arguments.rounds):
        for batch in (500, 1):
            consumer = begun(f"{broker.host}:{broker.port}", partitions)
            what = f"consumed {'one by one' if batch == 1 else f'by {batch}'}"
            timed(what, lambda consumer=consumer, batch=batch: taken(consumer, arguments.count, batch))
    for what, costs in found.items():
        print(f"{what:30s} {statistics.median(costs):6.2f} us of the client a message")


if __name__ == "__main__":
    main()
