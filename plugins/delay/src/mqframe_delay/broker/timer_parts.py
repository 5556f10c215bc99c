"""What taking messages into the timer and delivering them work with."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.core.clock import Clock
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.core.storage.agreement import is_of, place_of
from mqframe.core.wire.frame import Body
from mqframe.hooks.interfaces import BrokerStore, MessageRedelivery
from mqframe_delay.broker.timer_times import TimerTimes
from mqframe_delay.rules.timer_layout import Unit
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.store.timer_store import TimerStore


def names(unit: Unit, record: Body | None) -> bool:
    """Whether `record`, read where `unit` says, is one of the timer topic, and is all of it."""
    place = None if record is None else place_of(record, 0)
    if record is None or place is None or not is_of(record, 0, TIMER_TOPIC):
        return False
    return (place[0], place[1], place[3]) == (unit.size, 0, unit.log_offset)


class TimerParts(NamedTuple):
    """The timer's files, the store that its messages lie in, the ways back out of it, and the time."""

    timer: TimerStore
    store: BrokerStore
    metrics: TimerMetrics
    redelivery: MessageRedelivery
    clock: Clock
    times: TimerTimes
