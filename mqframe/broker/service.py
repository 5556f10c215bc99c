"""The parts that the kernel makes a broker of: services like those of plugins, notified of a little more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqframe.broker.tables.shared import Shared
from mqframe.core.measuring.family import Metric
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.peer import Peer
from mqframe.hooks.interfaces import BrokerService
from mqframe.store.message_store import MessageStore


class BrokerPart(BrokerService):
    """A service of the kernel. Implement what is needed."""

    def connection_closed(self, peer: Peer) -> None:
        """A client's connection ended."""

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        """An operator set an offset of `group`; whoever waits at the queue is to be woken."""

    async def metrics(self) -> Sequence[Metric]:
        """What monitoring is shown of this part; asked for at each scrape."""
        return ()

    def answer_waiting(self) -> None:
        """The broker is about to close its ports: answer the requests that are held."""


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


class CompositeService(BrokerPart):
    """One service of several parts; it declares itself only what belongs to none of them alone."""

    def __init__(self, parts: Sequence[BrokerService]) -> None:
        self.parts = tuple(parts)


def with_parts(services: Iterable[BrokerService]) -> list[BrokerService]:
    """All of `services`, each followed by its parts: the order in which a broker starts and notifies them."""
    found: list[BrokerService] = []
    for service in services:
        found.append(service)
        if isinstance(service, CompositeService):
            found += service.parts
    return found
