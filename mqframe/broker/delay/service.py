"""The broker service `delay`: messages that are delivered later, by level or at a given time."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.broker.delay.levels import LevelDelivery
from mqframe.broker.delay.recall import RecallProcessor
from mqframe.broker.delay.send_rule import ToDelayTopics
from mqframe.broker.delay.settings import DelaySettings
from mqframe.broker.delay.timer import TimerService
from mqframe.broker.sending.redelivery import Redelivery
from mqframe.broker.service import CompositeService
from mqframe.broker.state import BrokerState
from mqframe.core.delay.schedule import DelayOffsets, DelayOffsetTable
from mqframe.core.delay.timer_metrics import TimerMetrics, TimerMetricTable
from mqframe.hooks.interfaces import BrokerService, SavedTable, SendRule
from mqframe.hooks.specs import Factories, hookimpl


class DelayService(CompositeService):
    """Delay levels, the timer where it is not switched off, and recalls."""

    Settings = DelaySettings

    def __init__(self, state: BrokerState) -> None:
        store, clock = state.store, state.clock
        redelivery = Redelivery(state.writer, state.left_out)
        self._offsets, self._metrics = DelayOffsets(clock), TimerMetrics(clock)
        self._rule = ToDelayTopics(state.delays, state.identity.name)
        parts: list[BrokerService] = [
            LevelDelivery(store, redelivery, self._offsets, state.levels, clock),
            RecallProcessor(state.shared, state.writer),
        ]
        self.delivered_to = clock.now_ms
        """Time, ms, up to which the timer has delivered all that it kept."""
        settings = state.settings(DelaySettings).current
        if settings.timer_enabled:
            timer = TimerService(store, settings, redelivery, self._metrics, clock)
            parts.append(timer)
            self.delivered_to = timer.delivered_to
        super().__init__(parts)

    def send_rules(self) -> Sequence[SendRule]:
        """What its sender delays goes where such messages wait."""
        return (self._rule,)

    def tables(self) -> Sequence[SavedTable]:
        """How far each level is delivered, and how many messages of each topic the timer keeps."""
        return (
            SavedTable("delayOffset.json", DelayOffsetTable, self._offsets),
            SavedTable("timermetrics", TimerMetricTable, self._metrics),
        )


@hookimpl
def register_broker_services() -> Factories:
    """`delay`."""
    return {"delay": DelayService}
