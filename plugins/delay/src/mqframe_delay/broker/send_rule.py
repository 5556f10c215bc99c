"""Messages of producers that ask for a delivery at a given time."""

from __future__ import annotations

from mqframe.core.delay.options import DELAY_HINT, TIME_NAMES
from mqframe.core.delay.recall_handle import recall_handle
from mqframe.core.delay.rules import DelayRules
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import HALF_TOPIC, RETRY_PREFIX, TIMER_TOPIC
from mqframe.hooks.interfaces import PendingRecord, SendRule


class ToTimerTopic(SendRule):
    """A message that asks for a time is stored where the timer takes it from."""

    names = TIME_NAMES
    hint = DELAY_HINT

    def __init__(self, rules: DelayRules, broker_name: str) -> None:
        self._rules = rules
        self._broker_name = broker_name

    def before(self, record: PendingRecord) -> None:
        """Redirect `record`. Raises `Refusal` 13 for a time that cannot be kept."""
        if record.topic == HALF_TOPIC:
            return  # its delay begins when it is committed
        topic = record.topic
        record.topic, record.queue_id = self._rules.place_by_time(topic, record.queue_id, record.properties)
        if record.topic == TIMER_TOPIC != topic and not topic.startswith(RETRY_PREFIX):
            # With this its sender can take it back (SendMessageProcessor.attachRecallHandle).
            record.answer["recallHandle"] = recall_handle(
                topic,
                self._broker_name,
                int(record.properties[p.TIMER_OUT_MS]),
                record.properties[p.UNIQUE_KEY],
            )
