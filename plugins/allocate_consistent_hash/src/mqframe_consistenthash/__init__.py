"""Queues by consistent hashing: few of them move when a member comes or goes.

The same ring as AllocateMessageQueueConsistentHash.java, so that Java and Python members can share a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.config.settings import setting, settings, within
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.specs import Factories, hookimpl
from mqframe_consistenthash.ring import HashRing, queue_text

__all__ = ["ConsistentHash", "register_allocation_strategies"]


class ConsistentHash(AllocationStrategy):
    """Members stand on the ring, queues are looked up on it. Shares are uneven by nature."""

    wire_name = "CONSISTENT_HASH"

    @settings("plugins.consistent_hash")
    class Options:
        """How even the shares get."""

        virtual_nodes: int = setting(
            10,
            doc="how often each member stands on the ring; more is more even; the same for all members",
            check=within(1, 100_000),
        )

    def __init__(self, options: Options | None = None) -> None:
        self._virtual_nodes = (options or self.Options()).virtual_nodes

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues that the ring gives to `client_id`; empty for a stranger."""
        if client_id not in clients:
            return []
        ring = HashRing(clients, self._virtual_nodes)
        return [queue for queue in queues if ring.node_of(queue_text(queue)) == client_id]


@hookimpl
def register_allocation_strategies() -> Factories:
    """`consistent_hash`, with the option `virtual_nodes`."""
    return {"consistent_hash": ConsistentHash}
