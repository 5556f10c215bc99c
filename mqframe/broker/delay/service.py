"""The broker service `delay`: messages that are delivered later, by level or at a given time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mqframe.broker.delay.levels import LevelDelivery
from mqframe.broker.delay.recall import RecallProcessor
from mqframe.broker.delay.redelivery import Redelivery
from mqframe.broker.delay.send_rule import ToDelayTopics
from mqframe.broker.delay.timer import TimerService
from mqframe.broker.delay.timer_cut_back import DelayCutBack
from mqframe.core.delay.levels import parse_levels
from mqframe.core.delay.schedule import DelayOffsets, DelayOffsetTable
from mqframe.core.delay.settings import DelaySettings
from mqframe.core.delay.timer_metrics import TimerMetrics, TimerMetricTable
from mqframe.hooks.interfaces import BrokerPort, BrokerService, CompositeService, SavedTable, SendRule
from mqframe.hooks.specs import Factories, hookimpl


class DelayService(CompositeService):
    """Delay levels, the timer where it is not switched off, and recalls."""

    Settings = DelaySettings
    CutBack = DelayCutBack

    def __init__(self, port: BrokerPort) -> None:
        clock, settings = port.clock, port.settings(DelaySettings).current
        redelivery = Redelivery(port.writer, port.left_out)
        self._offsets, self._metrics = DelayOffsets(clock), TimerMetrics(clock)
        self._rule = ToDelayTopics(port.delays, port.identity.name)
        levels = parse_levels(settings.levels)
        parts: list[BrokerService] = [
            LevelDelivery(port, redelivery, self._offsets, levels),
            RecallProcessor(port),
        ]
        self._delivered_to = clock.now_ms
        if settings.timer_enabled:
            timer = TimerService(port, settings, redelivery, self._metrics)
            parts.append(timer)
            self._delivered_to = timer.delivered_to
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

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """Offers "delay.delivered_to": the time, ms, up to which the timer has delivered all that it kept."""
        return {"delay.delivered_to": self._delivered_to}


@hookimpl
def register_broker_services() -> Factories:
    """`delay`."""
    return {"delay": DelayService}
