"""Messages in and out, dead letters: metrics made of what the broker counts anyway.

Sources: BrokerMetricsManager.java, SendMessageProcessor.java, DefaultPullMessageResultHandler.java.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final

from mqframe.core.measuring.family import Family, MetricKind, MetricTable, Row
from mqframe.core.measuring.histogram import Histogram
from mqframe.core.messages.names import RETRY_PREFIX, normal_topic
from mqframe.core.sending.message_type import NORMAL
from mqframe.hooks.interfaces.monitoring.measured import CountedPuts, MeasuredTraffic
from mqframe.turns import in_turns
from mqframe_metrics.broker.naming import flag, is_system

DEAD: Final = "DLQ_PUT_NUMS"
"""The count of messages that a group gave up; key "topic@group"."""
TURN_COUNTS: Final = 512
"""Counts that are looked at in one turn of the loop, where not each becomes a row."""
_IN: Final = ("topic", "message_type", "is_system")
_OUT: Final = ("topic", "consumer_group", "is_retry", "is_system")


def messages_in(traffic: MeasuredTraffic) -> MetricTable:
    """What producers sent, by topic and type of message."""
    messages = Family("rocketmq_messages_in_total", MetricKind.COUNTER, "Messages that came in.", _IN)
    sizes = Family("rocketmq_throughput_in_total", MetricKind.COUNTER, "Bytes of records that came in.", _IN)
    histogram = Family("rocketmq_message_size", MetricKind.HISTOGRAM, "Sizes of records, bytes.", _IN)
    return MetricTable((messages, sizes, histogram), _in(traffic))


async def _in(traffic: MeasuredTraffic) -> AsyncIterator[Row]:
    for topic in tuple(traffic.puts):
        count = traffic.puts.get(topic)
        if count is not None:  # not deleted meanwhile
            system = flag(is_system(topic))
            for kind, total, size_bytes, by_size in _types(count):
                histogram = Histogram(traffic.size_bounds, by_size, size_bytes)
                yield (topic, kind, system), (total, size_bytes, histogram)


def _types(count: CountedPuts) -> Iterator[tuple[str, int, int, list[int]]]:
    """Type, messages, bytes and messages by size; what is of no other type is normal."""
    total, size_bytes, sizes = count.total, count.size.total, count.sizes
    for kind, other in count.types.items():
        yield kind, other.total, other.size_bytes, other.sizes
        total -= other.total
        size_bytes -= other.size_bytes
        sizes = [a - b for a, b in zip(sizes, other.sizes, strict=True)]
    if total:
        yield NORMAL, total, size_bytes, sizes


def messages_out(traffic: MeasuredTraffic) -> MetricTable:
    """What groups got, by topic and group."""
    messages = Family("rocketmq_messages_out_total", MetricKind.COUNTER, "Messages that went out.", _OUT)
    sizes = Family(
        "rocketmq_throughput_out_total", MetricKind.COUNTER, "Bytes of records that went out.", _OUT
    )
    return MetricTable((messages, sizes), _out(traffic))


async def _out(traffic: MeasuredTraffic) -> AsyncIterator[Row]:
    retries: dict[tuple[str, str], tuple[int, int]] = {}
    async for some in in_turns(tuple(traffic.gets), TURN_COUNTS):
        for group, topic in some:
            count = traffic.gets.get((group, topic))
            if count is None:
                continue  # deleted meanwhile
            sums = count.total, count.size.total
            if topic.startswith(RETRY_PREFIX):
                # A group may have retry topics of both forms for one topic.
                place = normal_topic(topic, group), group
                before = retries.get(place, (0, 0))
                retries[place] = before[0] + sums[0], before[1] + sums[1]
            else:
                yield (topic, group, "false", flag(is_system(topic, group))), sums
    for (topic, group), sums in retries.items():
        yield (topic, group, "true", flag(is_system("", group))), sums


def dead_letters(traffic: MeasuredTraffic) -> MetricTable:
    """Messages that groups gave up."""
    family = Family(
        "rocketmq_send_to_dlq_messages_total",
        MetricKind.COUNTER,
        "Messages that were given up, by the topic that they were sent to.",
        ("consumer_group", "topic", "is_system"),
    )
    return MetricTable((family,), _dead(traffic))


async def _dead(traffic: MeasuredTraffic) -> AsyncIterator[Row]:
    async for some in in_turns(traffic.seldom(), TURN_COUNTS):
        for (name, key), count in some:
            if name == DEAD:
                topic, _, group = key.rpartition("@")
                yield (group, topic, flag(is_system(topic, group))), (count.total,)
