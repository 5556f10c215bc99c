"""What answers to operators are made of is the broker's own."""

from __future__ import annotations

from mqframe_admin.broker.processor import AdminProcessor
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.messages.message import MessageQueue


class Shown(AdminProcessor):
    """Shows what it was handed."""

    def queue(self) -> MessageQueue:
        return self._queue("t", 1)

    def tables(self) -> tuple[object, ...]:
        return self._topics, self._groups, self._offsets, self._clients


async def test_it_names_queues_of_its_broker_and_has_its_tables() -> None:
    async with ClusterScene(topics={"t": 2}) as world:
        port = world.cluster.broker.service_port
        shown = Shown(port)
        assert shown.queue() == MessageQueue("t", "broker-a", 1)
        assert shown.tables() == (port.topics, port.groups, port.offsets, port.clients)
