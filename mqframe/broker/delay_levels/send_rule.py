"""Messages of producers that name a delay level."""

from __future__ import annotations

from mqframe.core.delay.options import DELAY_HINT, LEVEL_NAMES
from mqframe.core.delay.rules import DelayRules
from mqframe.core.messages.names import HALF_TOPIC
from mqframe.hooks.interfaces import PendingRecord, SendRule


class ToDelayTopic(SendRule):
    """A message that names a delay level is stored where those of its level wait."""

    names = LEVEL_NAMES
    hint = DELAY_HINT

    def __init__(self, rules: DelayRules) -> None:
        self._rules = rules

    @property
    def alike_while(self) -> object:
        """As `SendRule.alike_while`: the levels."""
        return self._rules.levels

    def before(self, record: PendingRecord) -> None:
        """Redirect `record`. Raises `Refusal` 13 for a delay that cannot be kept."""
        if record.topic == HALF_TOPIC:
            return  # its delay begins when it is committed
        place = self._rules.place_by_level(record.topic, record.queue_id, record.properties)
        record.topic, record.queue_id = place
