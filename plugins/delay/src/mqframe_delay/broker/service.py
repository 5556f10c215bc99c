"""The broker service `delay`: messages that are delivered at a given time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mqframe.core.delay.rules import PlaceInTime
from mqframe.hooks.interfaces import BrokerPort, BrokerService, CompositeService, SavedTable, SendRule
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_delay.broker.cut_back import TimerCutBack
from mqframe_delay.broker.recall import RecallProcessor
from mqframe_delay.broker.send_rule import ToTimerTopic
from mqframe_delay.broker.slave_copies import TimerCopies
from mqframe_delay.broker.timer import TimerService
from mqframe_delay.rules.bodies import TimerMetricTable
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.rules.timer_places import TimerPlaces
from mqframe_delay.settings import DelaySettings


class DelayService(CompositeService):
    """The timer where it is not switched off, and recalls."""

    Settings = DelaySettings
    CutBack = TimerCutBack
    SlaveCopies = TimerCopies

    def __init__(self, port: BrokerPort) -> None:
        clock, settings = port.clock, port.settings(DelaySettings).current
        self._metrics = TimerMetrics(clock)
        self._rule = ToTimerTopic(port.delays, port.identity.name)
        self._places = TimerPlaces(
            settings.timer_precision_ms, settings.timer_delay_seconds_max * 1000, settings.timer_enabled
        )
        parts: list[BrokerService] = [RecallProcessor(port)]
        self._delivered_to = clock.now_ms
        if settings.timer_enabled:
            timer = TimerService(port, settings, self._metrics)
            parts.append(timer)
            self._delivered_to = timer.delivered_to
        super().__init__(parts)

    def send_rules(self) -> Sequence[SendRule]:
        """What asks for a time goes where such messages wait."""
        return (self._rule,)

    def place_in_time(self) -> PlaceInTime:
        """In the timer topic."""
        return self._places.place

    def tables(self) -> Sequence[SavedTable]:
        """How many messages of each topic the timer keeps."""
        return (SavedTable("timermetrics", TimerMetricTable, self._metrics),)

    def offers(self) -> Mapping[str, Callable[..., Any]]:
        """Offers "delay.delivered_to": the time, ms, up to which the timer has delivered all that it kept."""
        return {"delay.delivered_to": self._delivered_to}


@hookimpl
def register_broker_services() -> Factories:
    """`delay`."""
    return {"delay": DelayService}
