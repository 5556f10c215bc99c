"""What taking messages into the timer and delivering them work with."""

from __future__ import annotations

from typing import NamedTuple

from mqframe.broker.delay.timer_times import TimerTimes
from mqframe.broker.sending.redelivery import Redelivery
from mqframe.core.clock import Clock
from mqframe.core.delay.timer_metrics import TimerMetrics
from mqframe.store.reading.reads import StoreReads
from mqframe.store.timer.timer_store import TimerStore


class TimerParts(NamedTuple):
    """The timer's files, the store that its messages lie in, the ways back out of it, and the time."""

    timer: TimerStore
    store: StoreReads
    metrics: TimerMetrics
    redelivery: Redelivery
    clock: Clock
    times: TimerTimes
