"""What a broker that takes no new messages has still to give away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from mqframe.core.consuming.bodies import ConsumeStats
from mqframe.core.errors import BadAnswer
from mqframe.core.messages.names import BROKER_GROUP_PREFIX, TOOLS_GROUP
from mqframe_admin.rules.lag import group_lags

_LEVEL: Final = "scheduleMessageOffset_"
_TIMER: Final = ("timerCongestNum", "timerOffsetBehind")
_HALF, _IN_FLIGHT = "halfMessages", "popInFlight"


@attrs.frozen
class BrokerDrain:
    """The broker `broker`, at `address`, and what is left in it.

    `draining`: whether it takes no new messages; `unconsumed`: messages that groups have yet to consume, by
    group, those to be tried again among them; `delayed`: those that wait for their time; `half`: transactions
    that are open, and `in_flight`: messages that were popped and not acknowledged, `None` from brokers that
    do not tell. Dead letters, and messages that no group consumes, do not count.
    """

    broker: str
    address: str
    draining: bool
    unconsumed: Mapping[str, int]
    delayed: int
    half: int | None
    in_flight: int | None

    @property
    def waits_for(self) -> tuple[str, ...]:
        """What has to be over before the broker may go, in words; empty: nothing."""
        found = [] if self.draining else ["it takes new messages still: drain it"]
        found += [f"{count} messages for group {group}" for group, count in self.unconsumed.items() if count]
        counts = {"delayed messages": self.delayed, "open transactions": self.half}
        counts["messages in flight"] = self.in_flight
        return (*found, *(f"{count} {what}" for what, count in counts.items() if count))

    @property
    def may_go(self) -> bool:
        """Whether the broker can be stopped for good, and nothing is lost by it."""
        return not self.waits_for


def unconsumed(groups: Iterable[Mapping[str, Iterable[ConsumeStats]]]) -> dict[str, int]:
    """How many messages each group has yet to consume, sorted; without what brokers do for themselves."""
    return {
        group: lag
        for group, lag in sorted(group_lags(groups).items())
        if not group.startswith(BROKER_GROUP_PREFIX) and group != TOOLS_GROUP
    }


def delayed(counters: Mapping[str, str], address: str) -> int:
    """How many messages of a broker with these `counters` wait for their time, by levels and by the timer.

    Raises `BadAnswer` for numbers that are none.
    """
    try:
        bounds = [value.split(",") for name, value in counters.items() if name.startswith(_LEVEL)]
        levels = sum(max(0, int(end) - int(position)) for position, end in bounds)
        return levels + sum(max(0, int(counters.get(name, "0"))) for name in _TIMER)
    except ValueError as problem:
        raise BadAnswer(f"{address} does not say how many delayed messages it has: {problem}") from None


def open_halves(counters: Mapping[str, str]) -> int | None:
    """How many transactions are open; `None`: the broker does not tell."""
    return _told(counters, _HALF)


def popped(counters: Mapping[str, str]) -> int | None:
    """How many messages are in flight; `None`: the broker does not tell."""
    return _told(counters, _IN_FLIGHT)


def _told(counters: Mapping[str, str], name: str) -> int | None:
    found = counters.get(name)
    return None if found is None else int(found)
