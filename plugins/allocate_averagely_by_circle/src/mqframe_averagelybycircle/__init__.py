"""Queues dealt out like cards, one to each member in turn (AllocateMessageQueueAveragelyByCircle.java)."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.specs import Factories, hookimpl

__all__ = ["AveragelyByCircle", "register_allocation_strategies"]


class AveragelyByCircle(AllocationStrategy):
    """The first member gets queues 0, n, 2n, …, the second 1, n + 1, …, for n members."""

    wire_name = "AVG_BY_CIRCLE"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """Every n-th queue, from the position of `client_id`; empty for a stranger."""
        if client_id not in clients:
            return []
        return list(queues[clients.index(client_id) :: len(clients)])


@hookimpl
def register_allocation_strategies() -> Factories:
    """`averagely_by_circle`, without options."""
    return {"averagely_by_circle": AveragelyByCircle}
