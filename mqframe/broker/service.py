"""The parts that the kernel makes a broker of: services as those of plugins are, and trusted."""

from __future__ import annotations

from mqframe.broker.tables.shared import Shared
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import BrokerService
from mqframe.store.message_store import MessageStore


class BrokerPart(BrokerService):
    """A part of the kernel itself. Implement what is needed."""


class Processor(BrokerPart):
    """Serves requests from what is stored and from what nearly every part of a broker uses.

    It reads the store; one that does more to it takes just that from `shared`.
    """

    def __init__(self, shared: Shared) -> None:
        store, registry, conditions = shared
        self._store: MessageStore = store
        self._topics, self._groups, self._offsets, self._clients = registry
        self._identity, self._live, self._clock, self._statistics = conditions

    def _queue(self, topic: str, queue_id: int) -> MessageQueue:
        return MessageQueue(topic, self._identity.name, queue_id)
