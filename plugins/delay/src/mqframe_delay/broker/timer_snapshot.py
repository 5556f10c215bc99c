"""What monitoring is shown of the timer (DefaultStoreMetricsManager.java)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.core.measuring.family import Family, Metric, MetricKind
from mqframe.core.messages.names import TIMER_TOPIC
from mqframe.turns import Pace
from mqframe_delay.broker.enqueue import TimerEnqueue
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.store.timer_store import TimerStore

_ENDS_SECONDS: Final = (5, 60, 300, 900, 3600, 14_400, 28_800, 86_400)
_TURN_SLOTS: Final = 1024
_LABELS: Final = ("storage_type", "storage_medium")
_VALUES: Final = ("local", "disk")


async def timer_families(timer: TimerStore, intake: TimerEnqueue, metrics: TimerMetrics) -> Sequence[Metric]:
    """How far the timer is behind, how much waits, and for how long."""
    now = intake.parts.clock.now_ms()
    stored = (
        intake.parts.store.queues.store_time_at(TIMER_TOPIC, 0, timer.queue_offset) if intake.behind else None
    )
    due = timer.next_slot(now)
    numbers = (
        ("rocketmq_timer_enqueue_lag", "Messages that are not taken into the timer yet.", intake.behind),
        (
            "rocketmq_timer_enqueue_latency_milliseconds",
            "How long the first of them has waited.",
            0 if stored is None else max(0, now - stored),
        ),
        ("rocketmq_timer_dequeue_lag", "Messages in the timer.", timer.waiting),
        (
            "rocketmq_timer_dequeue_latency_milliseconds",
            "How long the first slot that is due has waited for delivery.",
            0 if due is None else max(0, now - due.time - timer.precision),
        ),
    )
    families = []
    for name, meaning, value in numbers:
        family = Family(name, MetricKind.GAUGE, meaning, _LABELS)
        family.add(value, *_VALUES)
        families.append(family)
    return *families, await _snapshot(timer, now), *metrics.tables(_LABELS, _VALUES)


async def _snapshot(timer: TimerStore, now: int) -> Family:
    family = Family(
        "rocketmq_timer_message_snapshot",
        MetricKind.GAUGE,
        "Messages that are due after the bound before this one, and before this one.",
        (*_LABELS, "timer_bound_s"),
    )
    pace, turn_ms = Pace(1), _TURN_SLOTS * timer.precision
    start = now // timer.precision * timer.precision
    at = start
    for seconds in _ENDS_SECONDS:
        end, count = start + seconds * 1000, 0
        while at < end:
            count += timer.count_between(at, min(end, at + turn_ms))
            at = min(end, at + turn_ms)
            await pace.step()
        family.add(count, *_VALUES, str(seconds))
    return family
