"""What topics and brokers count, looked at again and again: rates now, and over the last hour, in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Set
from itertools import islice
from typing import Final

import attrs
from mqframe_admin.bodies import TopicTotal

from mqframe.core.errors import MqframeError
from mqframe.core.messages.names import DLQ_PREFIX
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.curves import CurveSpan
from mqframe_dashboard.series import SPAN_SECONDS, Rate, Series
from mqframe_dashboard.totals import HeldTotals, all_totals

CURVES_MAX: Final = 500
"""Topics whose rates are kept over time, the busiest; and as many dead-letter topics, and brokers."""
SHARE: Final = 20
"""A look is followed by a rest that is so many times as long: many topics are looked at less often."""
REST_SECONDS_MAX: Final = 60.0
LATE_LOOKS: Final = 3
"""A look that comes after so many intervals begins anew: what was between nobody saw."""
PUTS, GETS = "msgPutTotalTodayNow", "msgGetTotalTodayNow"
"""Counters of brokers: messages in and out since their start."""
log = get_logger("dashboard")


@attrs.frozen
class BrokerSeries:
    """Messages that came in to a broker, or all of them, and went out."""

    puts: Series = attrs.field(factory=Series)
    gets: Series = attrs.field(factory=Series)


class Samples:
    """The looks of the last hour. `interval`: seconds between two, at least; `clock`: monotonic seconds."""

    def __init__(self, asking: Asking, interval: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._asking = asking
        self._interval = interval
        self._clock = clock
        self._began: float | None = None
        self._turn = asyncio.Lock()
        self._looked: float | None = None
        self._tried = clock()
        self._took = 0.0
        self._names: frozenset[str] = frozenset()
        self._known = HeldTotals({})
        self._rates: dict[str, float] = {}
        self._curves: dict[str, Series] = {}
        self._letters: dict[str, Series] = {}
        self.cluster = BrokerSeries()
        """Of all brokers together; a gap where one did not answer."""
        self.brokers: dict[str, BrokerSeries] = {}
        """By broker name."""

    async def run(self) -> None:
        """Look for as long as it is not cancelled; a cluster that is away is asked again."""
        unsampled = Trouble(log, self._clock)
        while True:
            try:
                await self.look()
            except MqframeError as problem:
                unsampled.note("rates were not sampled", kind=str(problem), problem=str(problem))
            except Exception:  # isolation boundary: what a broker said made no sense
                log.exception("rates were not sampled")
            else:
                unsampled.over("rates are sampled again")
            await asyncio.sleep(self._pause)

    async def fresh(self) -> None:
        """Look unless that was done within the interval. Raises what a call raises."""
        async with self._turn:
            if self._looked is None or self._clock() - self._looked >= self._pause:
                await self._look()

    async def look(self) -> None:
        """Look at everything now. Raises what a call raises."""
        async with self._turn:
            await self._look()

    @property
    def totals(self) -> HeldTotals:
        """What topics held when they were looked at last."""
        return self._known

    @property
    def span(self) -> CurveSpan:
        """What curves cover: the last hour, or what of it the dashboard has seen."""
        began = self._tried if self._began is None else self._began
        return CurveSpan(max(began, self._tried - SPAN_SECONDS), self._tried)

    def rate(self, topic: str) -> float | None:
        """Messages a second stored in `topic` between the last two looks; `None`: not known."""
        return self._rates.get(topic)

    def rates(self, topic: str) -> list[Rate] | None:
        """Those of the last hour, the oldest first; `None` where it is not kept over time."""
        kept = self._curves.get(topic)
        return None if kept is None else self.rates_of(kept)

    def rates_of(self, series: Series) -> list[Rate]:
        """Those within `span`, the oldest first."""
        begin = self.span.begin
        return [each for each in series.rates() if each.end > begin]

    def new_letters(self) -> dict[str, int]:
        """How many dead letters came within `span`, by group, of those where some did."""
        counts = {topic.removeprefix(DLQ_PREFIX): int(kept.growth) for topic, kept in self._letters.items()}
        return {group: count for group, count in counts.items() if count}

    @property
    def _pause(self) -> float:
        return max(self._interval, min(REST_SECONDS_MAX, SHARE * self._took))

    async def _look(self) -> None:
        began = self._clock()
        try:
            masters = await self._asking.ask(self._asking.admin.cluster.masters)
            totals = await all_totals(self._asking, masters)
            counters = await self._asking.ask_each(self._asking.admin.brokers.runtime, masters.values())
            at = self._clock()
            late = self._looked is not None and at - self._looked > LATE_LOOKS * max(self._pause, 1.0)
            if late or totals.silent or frozenset(masters) != self._names:
                self._miss(at)  # sums of other brokers than before, or of an unknown time
            self._names = frozenset() if totals.silent else frozenset(masters)
            self._take_topics(at, totals)
            self._take_brokers(at, {name: counters[address] for name, address in masters.items()})
        except Exception:
            self._miss(self._clock())
            raise
        self._took = at - began
        self._known, self._looked = totals, at
        self._try(at)

    def _try(self, at: float) -> None:
        self._tried = at
        if self._began is None:
            self._began = at

    def _miss(self, at: float) -> None:
        self._rates = {}
        self._known = attrs.evolve(self._known, stale=True)
        self._try(at)
        of_brokers = (
            each for kept in (self.cluster, *self.brokers.values()) for each in (kept.puts, kept.gets)
        )
        for series in (*self._curves.values(), *self._letters.values(), *of_brokers):
            series.miss(at)

    def _take_topics(self, at: float, totals: HeldTotals) -> None:
        before, seconds = self._known, at - (self._looked or at)
        follows = seconds > 0 and not (before.stale or before.silent or totals.silent)
        self._rates = {}
        if follows:
            self._rates = {
                topic: (total.stored - old.stored) / seconds
                for topic, total in totals.topics.items()
                if (old := before.topics.get(topic)) is not None and total.stored >= old.stored
            }
        if not totals.silent:
            self._forget(totals.topics.keys() | totals.failed)
        self._choose(totals.topics)
        made = totals.topics.keys() - before.topics.keys() if follows and not totals.one_by_one else ()
        for topic in made:
            for kept in (self._curves, self._letters):
                if topic in kept and self._looked is not None:
                    kept[topic].add(self._looked, 0)  # it was made since, with nothing in it
        for kept in (self._curves, self._letters):
            for topic, series in kept.items():
                total = totals.topics.get(topic)
                if total is None or totals.silent:
                    series.miss(at)
                else:
                    series.add(at, total.stored)

    def _forget(self, there: Set[str]) -> None:
        """Topics that are not there any more."""
        for kept in (self._curves, self._letters):
            for gone in kept.keys() - there:
                del kept[gone]

    def _choose(self, topics: Mapping[str, TopicTotal]) -> None:
        """Which topics are kept over time: those that are, and the busiest in the place of quiet ones."""
        for topic in topics:
            if topic.startswith(DLQ_PREFIX) and len(self._letters) < CURVES_MAX:
                self._letters.setdefault(topic, Series())
        busy = self._rates.get
        others = sorted(topics.keys() - self._curves.keys(), key=lambda name: (-busy(name, 0.0), name))
        room = max(0, CURVES_MAX - len(self._curves))
        for topic in others[:room]:
            self._curves[topic] = Series()
        waiting = [topic for topic in islice(others, room, room + CURVES_MAX) if busy(topic, 0.0) > 0]
        quiet = [name for name, series in self._curves.items() if series.is_quiet] if waiting else []
        for topic, place in zip(waiting, quiet, strict=False):
            del self._curves[place]
            self._curves[topic] = Series()

    def _take_brokers(self, at: float, counters: Mapping[str, Mapping[str, str] | MqframeError]) -> None:
        for gone in self.brokers.keys() - counters.keys():
            self.brokers[gone].puts.miss(at)
            self.brokers[gone].gets.miss(at)
            if not self.rates_of(self.brokers[gone].puts):
                del self.brokers[gone]  # an hour ago, or before there was anything to show
        sums: dict[str, float | None] = {PUTS: 0.0, GETS: 0.0}
        for name, told in counters.items():
            if name not in self.brokers and len(self.brokers) < CURVES_MAX:
                self.brokers[name] = BrokerSeries()
            kept = self.brokers.get(name, BrokerSeries())
            for counter, of_broker, of_all in (
                (PUTS, kept.puts, self.cluster.puts),
                (GETS, kept.gets, self.cluster.gets),
            ):
                count = None if isinstance(told, MqframeError) else _number(told.get(counter))
                so_far = sums[counter]
                sums[counter] = None if count is None or so_far is None else so_far + count
                if count is not None and count < of_broker.last:
                    of_all.miss(at)  # it was started anew, so that the sum says nothing of what came
                _take(of_broker, at, count)
        _take(self.cluster.puts, at, sums[PUTS])
        _take(self.cluster.gets, at, sums[GETS])


def _take(series: Series, at: float, count: float | None) -> None:
    if count is None:
        series.miss(at)
    else:
        series.add(at, count)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None  # brokers of others are free in what they tell
