"""Which parts deliver messages later."""

from __future__ import annotations

from collections.abc import Callable

from mqframe.broker.delay_delivery import DelayDelivery
from mqframe.broker.part import Part
from mqframe.broker.recall import RecallProcessor
from mqframe.broker.release import Release
from mqframe.broker.state import BrokerState
from mqframe.broker.timers import Timers

Counters = Callable[[], dict[str, str]]
"""What a part adds to the broker's counters."""


def make_delay_parts(state: BrokerState) -> tuple[list[Part], list[Counters], Callable[[], int]]:
    """The parts, what they count, and up to when (ms) the timer has delivered all that it kept."""
    store, clock, release = state.store, state.clock, Release(state.inlet)
    levels = DelayDelivery(store, release, state.delay_offsets, state.levels, clock)
    parts: list[Part] = [
        levels,
        RecallProcessor(store, state.inlet, state.topics, state.identity, state.live, clock),
    ]
    counters = [levels.counters]
    if store.settings.timer_enabled:
        timers = Timers(store, release, state.timer_metrics, clock)
        parts.append(timers)
        counters.append(timers.counters)
        return parts, counters, timers.delivered_to
    return parts, counters, clock.now_ms
