"""Messages in and out, dead letters: metrics made of what the broker counts anyway.

Sources: BrokerMetricsManager.java, SendMessageProcessor.java, DefaultPullMessageResultHandler.java.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mqframe.broker.metrics.naming import flag, is_system
from mqframe.broker.tables.statistics import DEAD, SIZE_BOUNDS, PutCount, Statistics
from mqframe.core.measuring.family import Family, Kind
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.core.popping.receipt_handle import normal_topic
from mqframe.core.sending.message_type import NORMAL
from mqframe.net.turns import in_turns

TURN_COUNTS: Final = 512
"""Counts that are looked at in one turn of the loop."""
_IN: Final = ("topic", "message_type", "is_system")
_OUT: Final = ("topic", "consumer_group", "is_retry", "is_system")


async def messages_in(statistics: Statistics) -> tuple[Family, ...]:
    """What producers sent, by topic and type of message."""
    messages = Family("rocketmq_messages_in_total", Kind.COUNTER, "Messages that came in.", _IN)
    sizes = Family("rocketmq_throughput_in_total", Kind.COUNTER, "Bytes of records that came in.", _IN)
    histogram = Family("rocketmq_message_size", Kind.HISTOGRAM, "Sizes of records, bytes.", _IN)
    async for some in in_turns(tuple(statistics.puts.items()), TURN_COUNTS):
        for topic, count in some:
            system = flag(is_system(topic))
            for kind, total, size_bytes, by_size in _types(count):
                labels = topic, kind, system
                messages.series.append((labels, total))
                sizes.series.append((labels, size_bytes))
                found = Histogram(SIZE_BOUNDS)
                found.counts, found.sum = by_size, size_bytes
                histogram.series.append((labels, found))
    return messages, sizes, histogram


def _types(count: PutCount) -> Iterator[tuple[str, int, int, list[int]]]:
    """Type, messages, bytes and messages by size; what is of no other type is normal."""
    total, size_bytes, sizes = count.total, count.size.total, count.sizes
    for kind, other in count.types.items():
        yield kind, other.total, other.size_bytes, other.sizes
        total -= other.total
        size_bytes -= other.size_bytes
        sizes = [a - b for a, b in zip(sizes, other.sizes, strict=True)]
    if total:
        yield NORMAL, total, size_bytes, sizes


async def messages_out(statistics: Statistics) -> tuple[Family, Family]:
    """What groups got, by topic and group."""
    messages = Family("rocketmq_messages_out_total", Kind.COUNTER, "Messages that went out.", _OUT)
    sizes = Family("rocketmq_throughput_out_total", Kind.COUNTER, "Bytes of records that went out.", _OUT)
    totals: dict[tuple[str, str, str, str], tuple[int, int]] = {}
    async for some in in_turns(tuple(statistics.gets.items()), TURN_COUNTS):
        for (group, topic), count in some:
            # A group may have retry topics of both forms for one topic.
            retry = flag(topic.startswith(RETRY_PREFIX))
            labels = normal_topic(topic, group), group, retry, flag(is_system(topic, group))
            before = totals.get(labels, (0, 0))
            totals[labels] = before[0] + count.total, before[1] + count.size.total
    async for some_totals in in_turns(totals.items(), TURN_COUNTS):
        for labels, (total, size_bytes) in some_totals:
            messages.series.append((labels, total))
            sizes.series.append((labels, size_bytes))
    return messages, sizes


async def dead_letters(statistics: Statistics) -> tuple[Family]:
    """Messages that groups gave up."""
    family = Family(
        "rocketmq_send_to_dlq_messages_total",
        Kind.COUNTER,
        "Messages that were given up, by the topic that they were sent to.",
        ("consumer_group", "topic", "is_system"),
    )
    async for some in in_turns(statistics.seldom(), TURN_COUNTS):
        for (name, key), count in some:
            if name == DEAD:
                topic, _, group = key.rpartition("@")
                family.add(count.total, group, topic, flag(is_system(topic, group)))
    return (family,)
