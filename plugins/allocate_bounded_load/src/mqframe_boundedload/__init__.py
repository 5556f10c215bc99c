"""Queues by consistent hashing with bounded loads: few of them move, and no member gets too many.

Source: Mirrokni, Thorup, Zadimoghaddam, Consistent Hashing with Bounded Loads (SODA 2018).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil

from mqframe_consistenthash.ring import HashRing, queue_text, ring_position

from mqframe.core.config.settings import setting, settings, within
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.specs import Factories, hookimpl

__all__ = ["BoundedLoad", "capacity", "register_allocation_strategies"]

SPLITS_KEPT = 16


class BoundedLoad(AllocationStrategy):
    """Members stand on the ring of `consistent_hash`; a queue goes on to the next where one is full."""

    wire_name = "bounded_load"

    @settings("plugins.bounded_load")
    class Options:
        """How much more than its share a member may get. The same for all members."""

        load_factor: float = setting(
            1.25,
            doc="how many times its even share a member gets at most, rounded up to whole queues",
            check=within(1, 1000),
        )
        virtual_nodes: int = setting(
            100, doc="how often each member stands on the ring; more is more even", check=within(1, 100_000)
        )

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or self.Options()

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The queues of `client_id`, at most `capacity` of them; empty for a stranger."""
        options = self._options
        owners = _owners(tuple(queues), tuple(clients), options.load_factor, options.virtual_nodes)
        return [queue for queue in queues if owners[queue] == client_id]


def capacity(load_factor: float, queues: int, clients: int) -> int:
    """How many of `queues` one of `clients` gets at most: so many times its even share, rounded up."""
    # As people write it: 1.1 times 10 is 11, not a little more.
    return ceil(Fraction(str(load_factor)) * queues / clients)


@lru_cache(SPLITS_KEPT)
def _owners(
    queues: tuple[MessageQueue, ...], clients: tuple[str, ...], load_factor: float, virtual_nodes: int
) -> Mapping[MessageQueue, str]:
    room = capacity(load_factor, len(queues), len(clients))
    ring = HashRing(clients, virtual_nodes)
    loads = Counter(dict.fromkeys(clients, 0))
    owners: dict[MessageQueue, str] = {}
    # In the order of the ring, not of queue ids: it is the same whatever queues are added.
    for _, text, queue in sorted((ring_position(queue_text(q)), queue_text(q), q) for q in queues):
        free = (client for client in ring.nodes_from(text) if loads[client] < room)
        # Only a member whose every place another one took stands nowhere on the ring.
        owner = next(free, None) or min(clients, key=lambda client: (loads[client], client))
        owners[queue] = owner
        loads[owner] += 1
    return owners


@hookimpl
def register_allocation_strategies() -> Factories:
    """`bounded_load`, with the options `load_factor` and `virtual_nodes`."""
    return {"bounded_load": BoundedLoad}
