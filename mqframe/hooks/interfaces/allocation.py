"""Allocation strategies: how the queues of a topic are shared among the members of a consumer group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mqframe.core.messages.message import MessageQueue


class AllocationStrategy(ABC):
    """Decides which queues a member gets. Synchronous; may not block; all members must agree on the split.

    `wire_name`: the name that RocketMQ uses for the strategy, for example "AVG".
    """

    wire_name: str

    @abstractmethod
    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues of `client_id`, in order; empty when it gets none.

        `queues` and `clients` are sorted, not empty and free of doubles; a `client_id` that is not in
        `clients` gets nothing. An exception keeps the present assignment and is logged.
        """
