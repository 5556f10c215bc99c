"""What answers to operators are made of is the broker's own."""

from __future__ import annotations

from typing import Any

from mqframe_admin.broker.processor import AdminProcessor

from mqframe.core.messages.message import MessageQueue


class Shown(AdminProcessor):
    """Shows what it was handed."""

    def queue(self) -> MessageQueue:
        return self._queue("t", 1)

    def tables(self) -> tuple[object, ...]:
        return self._topics, self._groups, self._offsets, self._clients


def test_it_names_queues_of_its_broker_and_has_its_tables(run: Any) -> None:
    async def scenario(world: Any) -> None:
        port = world.cluster.broker.service_port
        shown = Shown(port)
        assert shown.queue() == MessageQueue("t", "broker-a", 1)
        assert shown.tables() == (port.topics, port.groups, port.offsets, port.clients)

    run(scenario)
