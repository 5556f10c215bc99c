"""What all that answers operators answers from."""

from __future__ import annotations

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import BrokerPort


class AdminProcessor:
    """Serves requests of operators from the tables, the store and the counts of a broker."""

    def __init__(self, port: BrokerPort) -> None:
        self._administration = administration = port.administration
        self._topics, self._groups = administration.tables.topics, administration.tables.groups
        self._offsets = administration.tables.offsets
        self._settings, self._traffic = administration.settings, administration.traffic
        self._clients, self._store = port.clients, port.store
        self._identity, self._clock = port.identity, port.clock
        self._save = port.save_tables

    def _queue(self, topic: str, queue_id: int) -> MessageQueue:
        return MessageQueue(topic, self._identity.name, queue_id)
