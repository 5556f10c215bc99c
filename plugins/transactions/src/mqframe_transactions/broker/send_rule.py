"""Messages of producers whose transaction is yet to be decided."""

from __future__ import annotations

from mqframe.core.codes import ResponseCode, SysFlag
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.names import HALF_TOPIC
from mqframe.core.sending.message_type import is_half
from mqframe.hooks.interfaces import PendingRecord, SendRule, ServiceSettings, TopicLookup
from mqframe_transactions.requests import SendHalfBatch
from mqframe_transactions.rules.half_rules import hold
from mqframe_transactions.settings import TransactionSettings


class ToHalfTopic(SendRule):
    """A message whose producer has yet to decide is stored where no consumer looks."""

    names = frozenset({p.TRANSACTION_PREPARED})

    def __init__(self, topics: TopicLookup, settings: ServiceSettings[TransactionSettings]) -> None:
        self._topics = topics
        self._settings = settings

    @property
    def alike_while(self) -> object:
        """As `SendRule.alike_while`: the settings, which may reject transactions from now on."""
        return self._settings.current

    def before(self, record: PendingRecord) -> None:
        """Redirect `record` if it is a half. Raises `Refusal` 16 where the settings reject transactions."""
        if not is_half(record.properties, record.fields.reconsume_times or 0):
            return
        if self._settings.current.reject:
            raise Refusal(ResponseCode.NO_PERMISSION, "this broker takes no transactional messages")
        self._topics.ensure(HALF_TOPIC, 1)
        if not isinstance(record.fields, SendHalfBatch):
            record.properties.pop(p.HALF_BATCH, None)  # its body was not looked into
        hold(record.properties, record.topic, record.queue_id)
        record.topic = record.counted_as = HALF_TOPIC
        record.queue_id = 0
        record.sys_flag &= ~SysFlag.TRANSACTION_MASK
