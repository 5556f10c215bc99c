"""Statistics of the broker: messages in and out, by topic and by group.

The names of the counts are those of BrokerStatsManager.java; so are their keys: a topic, "topic@group", or
the name of the cluster.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from mqframe.core.clock import Clock
from mqframe.core.measuring.meter import Meter
from mqframe.core.measuring.put_times import PutTimes
from mqframe.core.measuring.sampled import Sampled
from mqframe.core.sending.message_type import NORMAL
from mqframe.turns import in_turns

WINDOWS_SECONDS: Final = (10.0, 60.0, 600.0)
"""Stretches that a broker's rates are given for."""
SENT_BACK: Final = "SNDBCK_PUT_NUMS"
"""Messages that a group handed back; key "topic@group"."""
ACKNOWLEDGED: Final = "GROUP_ACK_NUMS"
"""Messages that a group popped and acknowledged; key "topic@group"."""
DEAD: Final = "DLQ_PUT_NUMS"
"""Messages that a group gave up; key "topic@group"."""


SIZE_BOUNDS: Final = (1 << 10, 4 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20)
"""Sizes of records, bytes, that histograms of them tell apart."""
TURN_COUNTS: Final = 4096
"""Counts that remember their totals in one turn of the loop."""


class TypeCount:
    """Messages of one type put into a topic: how many, their records' bytes, and by `SIZE_BOUNDS`."""

    __slots__ = ("size_bytes", "sizes", "total")

    def __init__(self) -> None:
        self.total = 0
        self.size_bytes = 0
        self.sizes = [0] * (len(SIZE_BOUNDS) + 1)


class PutCount(Sampled):
    """Messages put into one topic. `size`: their records, bytes; `sizes`: how many by `SIZE_BOUNDS`.

    `types`: what of all that is not of the type normal.
    """

    __slots__ = ("size", "sizes", "types")

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.size = Sampled(now)
        self.sizes = [0] * (len(SIZE_BOUNDS) + 1)
        self.types: dict[str, TypeCount] = {}

    def add(self, count: int, size_bytes: int, kind: str = NORMAL) -> None:
        """Count one put of `count` messages of a type, whose records have `size_bytes` together."""
        self.total += count
        self.times += 1
        self.size.total += size_bytes
        slot = bisect_left(SIZE_BOUNDS, size_bytes if count == 1 else size_bytes // count)
        self.sizes[slot] += count
        if kind != NORMAL:
            found = self.types.get(kind)
            if found is None:
                found = self.types[kind] = TypeCount()
            found.total += count
            found.size_bytes += size_bytes
            found.sizes[slot] += count


class GetCount(Sampled):
    """Messages of one topic given to one group. `size`: their records, bytes; `latency`: ms in the store."""

    __slots__ = ("latency", "size")

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.size = Sampled(now)
        self.latency = Sampled(now)


class Statistics:
    """Counts; `sample` is called every 10 s. Days begin at local midnight, or when the broker started.

    `put`, `get`: messages in and out; `put_times`: how long sends took; `found`, `missed`: look-ups for
    consumers with and without a message; `longest_get_ms`: the longest of those with.
    """

    __slots__ = (
        "_broker_gets", "_broker_puts", "_clock", "_cluster", "_day", "_forgotten_bytes", "_others",
        "found", "get", "gets", "longest_get_ms", "missed", "morning", "put", "put_times", "puts",
        "started_ms", "yesterday",
    )  # fmt: skip

    def __init__(self, clock: Clock, cluster: str = "DefaultCluster") -> None:
        self._clock = clock
        self._cluster = cluster
        now = clock.monotonic()
        self.started_ms = clock.now_ms()
        self.put = Meter(now)
        self.put_times = PutTimes(now)
        self.get = Meter(now)
        self.found = Meter(now)
        self.missed = Meter(now)
        self.longest_get_ms = 0.0
        self._forgotten_bytes = 0
        self.puts: dict[str, PutCount] = {}
        self.gets: dict[tuple[str, str], GetCount] = {}
        self._broker_puts = Sampled(now)
        self._broker_gets = Sampled(now)
        self._others: dict[tuple[str, str], Sampled] = {}
        self.morning = (0, 0)
        self.yesterday = (0, 0)
        self._day = self._today()

    def topic(self, name: str) -> PutCount:
        """The count of messages put into topic `name`."""
        count = self.puts.get(name)
        if count is None:
            count = self.puts[name] = PutCount(self._clock.monotonic())
        return count

    def stored(self, topic: str, count: int, size_bytes: int, kind: str) -> None:
        """Count messages of a type that were stored outside of a send; `size_bytes`: their records."""
        self.topic(topic).add(count, size_bytes, kind)
        self.put.total += count

    def found_nothing(self) -> None:
        """Count a look for messages where there were none."""
        self.missed.total += 1

    def acknowledged(self, group: str, topic: str, count: int = 1) -> None:
        """Count messages that `group` popped and is done with."""
        self.add(ACKNOWLEDGED, topic, group, count)

    def given_up(self, group: str, topic: str) -> None:
        """Count a message that became a dead letter of `group`."""
        self.add(DEAD, topic, group)

    def got(self, group: str, topic: str, count: int, size_bytes: int = 0, seconds: float = 0.0) -> None:
        """Count `count` messages given to `group`, which took the store `seconds`."""
        self.get.total += count
        self.found.total += 1
        found = self.gets.get((group, topic))
        if found is None:
            found = self.gets[group, topic] = GetCount(self._clock.monotonic())
        found.total += count
        found.times += 1
        found.size.total += size_bytes
        took_ms = seconds * 1000
        found.latency.total += int(took_ms)
        if took_ms > self.longest_get_ms:
            self.longest_get_ms = took_ms

    def add(self, name: str, topic: str, group: str, count: int = 1) -> None:
        """Count what seldom happens, under `name`, by topic and group."""
        key = (name, f"{topic}@{group}")
        found = self._others.get(key)
        if found is None:
            found = self._others[key] = Sampled(self._clock.monotonic())
        found.total += count
        found.times += 1

    def seldom(self) -> tuple[tuple[tuple[str, str], Sampled], ...]:
        """All that was counted by `add`, as a copy: its name and "topic@group", and how often."""
        return tuple(self._others.items())

    @property
    def size_bounds(self) -> tuple[int, ...]:
        """Sizes of records, bytes, by which `PutCount.sizes` tells them apart."""
        return SIZE_BOUNDS

    def put_rate(self, topic: str) -> float:
        """Messages a second put into `topic`, over the last minute."""
        return self._rate(self.puts.get(topic))

    def get_rate(self, group: str, topic: str) -> float:
        """Messages of `topic` a second given to `group`, over the last minute."""
        return self._rate(self.gets.get((group, topic)))

    @property
    def put_bytes(self) -> int:
        """Size of the records of all messages in `put`."""
        return self._forgotten_bytes + sum(put.size.total for put in self.puts.values())

    def rates(self, *meters: Meter) -> str:
        """Three rates of `meters` together as Apache RocketMQ writes them: over 10 s, 1 min and 10 min."""
        now = self._clock.monotonic()
        return " ".join(
            f"{sum(meter.per_second(now, seconds) for meter in meters):.2f}" for seconds in WINDOWS_SECONDS
        )

    def count(self, name: str, key: str) -> Sampled | None:
        """The count `name` of `key`; `None` when there is none."""
        self._follow()
        return self._find(name, key)

    def forget_topic(self, name: str) -> None:
        """Drop the counts of a deleted topic."""
        put = self.puts.pop(name, None)
        self._forgotten_bytes += 0 if put is None else put.size.total
        for key in [key for key in self.gets if key[1] == name]:
            del self.gets[key]
        for other in [other for other in self._others if other[1].partition("@")[0] == name]:
            del self._others[other]

    def forget_group(self, name: str) -> None:
        """Drop the counts of a deleted consumer group."""
        for key in [key for key in self.gets if key[0] == name]:
            del self.gets[key]
        for other in [other for other in self._others if other[1].partition("@")[2] == name]:
            del self._others[other]

    async def sample_in_turns(self) -> None:
        """Let all counts remember their totals; begin a new day when it is time.

        In slices: there may be hundreds of thousands of counts.
        """
        now = self._clock.monotonic()
        for meter in (self.put, self.get, self.found, self.missed):
            meter.sample(now)
        self.put_times.sample(now)
        self._follow()
        today = self._today()
        if today != self._day:
            self._day = today
            self.yesterday, self.morning = self.morning, (self.put.total, self.get.total)
        async for some in in_turns(tuple(self._all()), TURN_COUNTS):
            for count in some:
                count.sample(now)

    def _all(self) -> Iterable[Sampled]:
        yield from (self._broker_puts, self._broker_gets)
        for put in self.puts.values():
            yield from (put, put.size)
        for get in self.gets.values():
            yield from (get, get.size, get.latency)
        yield from self._others.values()

    def _follow(self) -> None:
        # What can be told from another count is not counted a second time where messages pass.
        self._broker_puts.total, self._broker_gets.total = self.put.total, self.get.total
        self._broker_puts.times = sum(put.times for put in self.puts.values())
        self._broker_gets.times = sum(get.times for get in self.gets.values())
        for put in self.puts.values():
            put.size.times = put.times
        for get in self.gets.values():
            get.size.times = get.latency.times = get.times

    def _find(self, name: str, key: str) -> Sampled | None:
        topic, _, group = key.rpartition("@")
        match name:
            case "TOPIC_PUT_NUMS":
                return self.puts.get(key)
            case "TOPIC_PUT_SIZE":
                put = self.puts.get(key)
                return None if put is None else put.size
            case "GROUP_GET_NUMS":
                return self.gets.get((group, topic))
            case "GROUP_GET_SIZE":
                get = self.gets.get((group, topic))
                return None if get is None else get.size
            case "GROUP_GET_LATENCY":  # "queue id@topic@group" there; here all queues count together
                get = self.gets.get((group, topic.rpartition("@")[2]))
                return None if get is None else get.latency
            case "BROKER_PUT_NUMS":
                return self._broker_puts if key == self._cluster else None
            case "BROKER_GET_NUMS":
                return self._broker_gets if key == self._cluster else None
        return self._others.get((name, key))

    def _rate(self, count: Sampled | None) -> float:
        return 0.0 if count is None else round(count.minute(self._clock.monotonic()).per_second, 2)

    def _today(self) -> str:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000).strftime("%Y%m%d")
