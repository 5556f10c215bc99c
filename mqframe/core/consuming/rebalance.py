"""Who owns which queues of a topic, and what changes when that changes (behaviour.md §6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from mqframe.core.messages.message import MessageQueue

Allocate = Callable[[str, str, Sequence[MessageQueue], Sequence[str]], list[MessageQueue]]
"""Group, client id, queues, clients → the queues of that client."""


class Changes(NamedTuple):
    """Queues to give up first, then queues to take. A stuck queue is in both."""

    dropped: list[MessageQueue]
    added: list[MessageQueue]

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return bool(self.dropped or self.added)


def my_queues(
    allocate: Allocate, group: str, client_id: str, queues: Iterable[MessageQueue], clients: Iterable[str]
) -> list[MessageQueue]:
    """The queues of `client_id`: both lists sorted and without doubles, as every member sees them.

    Without queues or without members nobody is asked and nothing allocated. Raises what `allocate` raises.
    """
    all_queues, all_clients = sorted(set(queues)), sorted(set(clients))
    if not all_queues or not all_clients:
        return []
    return list(dict.fromkeys(allocate(group, client_id, all_queues, all_clients)))


def changes(
    owned: Collection[MessageQueue], allocated: Collection[MessageQueue], stuck: Collection[MessageQueue] = ()
) -> Changes:
    """What leads from `owned` to `allocated`. `stuck`: owned queues to be taken anew. Both lists in order."""
    mine = set(allocated)
    gone = {queue for queue in owned if queue not in mine or queue in stuck}
    kept = set(owned) - gone
    return Changes(sorted(gone), sorted(mine - kept))
