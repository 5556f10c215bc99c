"""What slaves keep of the timer: how far it is, and how many messages of each topic wait in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.admin import GetTimerMetrics
from mqframe.hooks.interfaces import BrokerPort, CopiedFile, CopiedTable, SavedTable, SlaveCopies
from mqframe_delay.requests import GetTimerCheckPoint
from mqframe_delay.rules.bodies import TimerMetricTable
from mqframe_delay.rules.timer_metrics import TimerMetrics
from mqframe_delay.settings import DelaySettings
from mqframe_delay.store.copied import followed, save_followed

_NO_TIMER: Final = (ResponseCode.SYSTEM_ERROR,)
"""What a master answers whose timer is switched off (AdminBrokerProcessor.getTimerMetrics)."""


class TimerCopies(SlaveCopies):
    """Nothing where the timer is switched off."""

    def __init__(self, port: BrokerPort) -> None:
        self._enabled = port.settings(DelaySettings).current.timer_enabled
        self._metrics = TimerMetrics(port.clock)

    def tables(self) -> Sequence[CopiedTable]:
        """How many messages wait."""
        if not self._enabled:
            return ()
        saved = SavedTable("timermetrics", TimerMetricTable, self._metrics)
        return (CopiedTable(GetTimerMetrics(), saved, self._take, _NO_TIMER),)

    def files(self) -> Sequence[CopiedFile]:
        """The check point."""
        if not self._enabled:
            return ()
        name = "the timer's check point"
        return (CopiedFile(name, GetTimerCheckPoint(), followed, save_followed, _NO_TIMER),)

    def _take(self, table: TimerMetricTable) -> None:
        if table.data_version != self._metrics.version:
            self._metrics.load(table)
            self._metrics.changes += 1
