"""The broker service `delay_levels`: messages that wait for a numbered delay."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.broker.delay_levels.cut_back import LevelsCutBack
from mqframe.broker.delay_levels.delivery import LevelDelivery
from mqframe.broker.delay_levels.send_rule import ToDelayTopic
from mqframe.core.delay.schedule import DelayOffsets, DelayOffsetTable
from mqframe.hooks.interfaces import BrokerPort, CompositeService, SavedTable, SendRule


class DelayLevelService(CompositeService):
    """Delay levels; messages whose consumers failed wait at these, too."""

    CutBack = LevelsCutBack

    def __init__(self, port: BrokerPort) -> None:
        self._offsets = DelayOffsets(port.clock)
        self._rule = ToDelayTopic(port.delays)
        super().__init__([LevelDelivery(port, self._offsets)])

    def send_rules(self) -> Sequence[SendRule]:
        """What names a level goes where the messages of that level wait."""
        return (self._rule,)

    def tables(self) -> Sequence[SavedTable]:
        """How far each level is delivered."""
        return (SavedTable("delayOffset.json", DelayOffsetTable, self._offsets),)
