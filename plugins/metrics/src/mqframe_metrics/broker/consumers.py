"""How far consumer groups are: lag, what is in flight, what is ready, and for how long it has waited.

Source: ConsumerLagCalculator.java, which shows groups with members alone. Here all groups are shown that ever
stored an offset: a group whose members are all gone is the one that somebody has to hear of.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final

from mqframe.core.measuring.family import Family, Labels, MetricKind, MetricTable, Row
from mqframe.core.messages.names import BROKER_GROUP_PREFIX, RETRY_PREFIX, normal_topic
from mqframe.core.storage.record import decode_record
from mqframe.hooks.interfaces import BrokerMeasures, BrokerStore
from mqframe_metrics.broker.naming import flag, is_system
from mqframe_metrics.broker.stint import Stint

TURN_SECONDS: Final = 0.0005
"""How long queues are looked at in one turn of the loop."""
_LABELS: Final = ("consumer_group", "topic", "is_retry", "is_system")


class _Place:
    """Sums over the queues of one topic. Times are those of storing, ms; 0: nothing waits."""

    __slots__ = ("in_flight", "lag", "ready", "unconsumed_ms", "unpulled_ms")

    def __init__(self) -> None:
        self.lag = self.in_flight = self.ready = 0
        self.unconsumed_ms = self.unpulled_ms = 0


class ConsumerMetrics:
    """Looks at the queues of all groups of one broker."""

    def __init__(self, measures: BrokerMeasures) -> None:
        port = measures.port
        self._store, self._clock, self._clients = port.store, port.clock, port.clients
        self._tables = measures.tables
        self._popped = port.offered("pop.in_flight")
        """By topic, group and queue id, the offset behind what was popped (-1: nothing), and how many
        messages are in flight; `None` where there is no pop."""
        self._times: dict[str, dict[str, int]] = {}

    def table(self) -> MetricTable:
        """The five metrics, each by group and topic."""
        lag, ready, in_flight = (
            Family(f"rocketmq_consumer_{name}_messages", MetricKind.GAUGE, meaning, _LABELS)
            for name, meaning in (
                ("lag", "Messages that a group has not consumed yet."),
                ("ready", "Messages that a group has not fetched yet."),
                ("inflight", "Messages that a group has fetched and not consumed."),
            )
        )
        latency, queueing = (
            Family(f"rocketmq_consumer_{name}_latency_milliseconds", MetricKind.GAUGE, meaning, _LABELS, max)
            for name, meaning in (
                ("lag", "How long the first message that is not consumed has been stored."),
                ("queueing", "How long the first message that is not fetched has been stored."),
            )
        )
        return MetricTable((lag, latency, in_flight, queueing, ready), self._rows())

    async def _rows(self) -> AsyncIterator[Row]:
        known = dict.fromkeys((*self._tables.groups, *self._clients.consumers))
        stint = Stint(TURN_SECONDS)
        for group in known:
            if stint.is_over:  # there may be many that have no queues
                await stint.next()
            places = await self._places(group, stint)
            now = self._clock.now_ms()
            for labels, place in places.items():
                yield (
                    labels,
                    (
                        place.lag,
                        _waited(place.unconsumed_ms, now),
                        place.in_flight,
                        _waited(place.unpulled_ms, now),
                        place.ready,
                    ),
                )
        for gone in self._times.keys() - known.keys():
            del self._times[gone]

    async def _places(self, group: str, stint: Stint) -> dict[Labels, _Place]:
        places: dict[Labels, _Place] = {}
        times = _StoreTimes(self._store, self._times.get(group, {}))
        for topic in self._topics_of(group):
            config = self._tables.topics.find(topic)
            retry = flag(topic.startswith(RETRY_PREFIX))
            labels = group, normal_topic(topic, group), retry, flag(is_system(topic, group))
            place = places.get(labels) or places.setdefault(labels, _Place())
            for queue_id in range(0 if config is None else config.write_queue_nums):
                await self._look(place, group, topic, queue_id, times)
                if stint.is_over:
                    await stint.next()
        if times.seen:
            self._times[group] = times.seen
        else:
            self._times.pop(group, None)
        return places

    def _topics_of(self, group: str) -> list[str]:
        """The topics that `group` subscribes to or has offsets of, those that exist."""
        topics, offsets = self._tables.topics, self._tables.offsets
        online = self._clients.consumers.get(group)
        if online is None and group.upper().startswith(BROKER_GROUP_PREFIX):
            return []  # the broker's own
        wanted = (*(() if online is None else online.subscriptions), *offsets.topics_of(group))
        return [topic for topic in dict.fromkeys(wanted) if topic in topics]

    async def _look(self, place: _Place, group: str, topic: str, queue_id: int, times: _StoreTimes) -> None:
        store, offsets = self._store, self._tables.offsets
        end = store.queues.max_offset(topic, queue_id)
        committed = offsets.query(group, topic, queue_id)
        committed = end if committed is None or committed < 0 else committed
        fetched, in_flight = committed, 0
        if self._popped is not None:
            fetched, in_flight = self._popped(topic, group, queue_id)
        if fetched >= 0 and (in_flight or fetched > committed):
            fetched = max(fetched, committed)
            consumed = max(committed, fetched - in_flight)
            lag = max(0, end - fetched) + in_flight
        else:
            pulled = offsets.query_pulled(group, topic, queue_id)
            fetched = max(committed, pulled or 0)
            in_flight += fetched - committed
            consumed, lag = committed, max(0, end - committed)
        place.lag += lag
        place.in_flight += in_flight
        place.ready += max(0, end - fetched)
        if lag:
            place.unconsumed_ms = _earlier(place.unconsumed_ms, await times.at(topic, queue_id, consumed))
        if fetched < end:
            place.unpulled_ms = _earlier(place.unpulled_ms, await times.at(topic, queue_id, fetched))


class _StoreTimes:
    """When messages were stored. What was asked last time is remembered: it may lie on a slow disk.

    `known`: the `seen` of last time, by place.
    """

    def __init__(self, store: BrokerStore, known: Mapping[str, int]) -> None:
        self._store = store
        self._known = known
        self.seen: dict[str, int] = {}

    async def at(self, topic: str, queue_id: int, offset: int) -> int:
        """Of the message at `offset`, or of the first that is kept behind it, ms; 0: nobody knows."""
        store = self._store
        offset = max(offset, store.queues.min_offset(topic, queue_id))
        place = f"{offset}@{queue_id}@{topic}"
        found = self._known.get(place)
        if found is None:
            if store.reads.is_cold(topic, queue_id, offset):
                cold = await store.reads.get_cold(topic, queue_id, offset, 1)
                found = decode_record(bytes(cold.parts[0])).store_timestamp if cold.count else 0
            else:
                found = store.queues.store_time_at(topic, queue_id, offset) or 0
        self.seen[place] = found
        return found


def _waited(since_ms: int, now_ms: int) -> int:
    return max(0, now_ms - since_ms) if since_ms else 0


def _earlier(known_ms: int, found_ms: int) -> int:
    return min(known_ms, found_ms) if known_ms and found_ms else known_ms or found_ms
