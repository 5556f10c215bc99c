"""What taking messages into the timer and delivering them work with."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.broker.sending.redelivery import Redelivery
from mqframe.core.clock import Clock
from mqframe.core.delay.timer_layout import Unit
from mqframe.core.delay.timer_metrics import TimerMetrics
from mqframe.core.delay.timer_rules import whole_number
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.store.reading.reads import StoreReads
from mqframe.store.timer.timer_store import TimerStore


def names(unit: Unit, message: ReceivedMessage | None) -> bool:
    """Whether `unit` can be that of `message`, read where the unit says."""
    if message is None or (message.topic, message.commit_log_offset) != (TIMER_TOPIC, unit.log_offset):
        return False
    out = whole_number(message.properties.get(p.TIMER_OUT_MS, ""))
    return out is not None and (unit.rolls or unit.time == out)


class TimerParts(NamedTuple):
    """The timer's files, the store that its messages lie in, and the ways back out of it."""

    timer: TimerStore
    store: StoreReads
    metrics: TimerMetrics
    redelivery: Redelivery
    clock: Clock
