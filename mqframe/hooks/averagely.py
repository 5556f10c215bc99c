"""Contiguous shares of queues: the default allocation strategy (AllocateMessageQueueAveragely.java)."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy


class Averagely(AllocationStrategy):
    """Each member gets a run of neighbouring queues, the first members one more where it does not divide."""

    wire_name = "AVG"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The run of `client_id`; empty for a stranger and for members beyond the number of queues."""
        if client_id not in clients:
            return []
        index = clients.index(client_id)
        share, extra = divmod(len(queues), len(clients))
        start = index * share + min(index, extra)
        return list(queues[start : start + share + (index < extra)])
