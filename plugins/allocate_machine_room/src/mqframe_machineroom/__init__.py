"""Only queues of brokers in named machine rooms (AllocateMessageQueueByMachineRoom.java)."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.config.settings import setting, settings
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy
from mqframe.hooks.specs import Factories, hookimpl

__all__ = ["MachineRoom", "register_allocation_strategies"]


def _in_rooms(broker_name: str, rooms: frozenset[str]) -> bool:
    # Java's split drops empty parts at the end, so "hz@a@" has two parts, "hz@" one.
    parts = broker_name.rstrip("@").split("@")
    return len(parts) == 2 and parts[0] in rooms


class MachineRoom(AllocationStrategy):
    """Shares the queues of brokers called `room@name` among the members; queues of other rooms go to nobody.

    Each member gets a run of neighbouring queues; what does not divide goes one by one to the first members.
    """

    wire_name = "MACHINE_ROOM"

    @settings("plugins.machine_room")
    class Options:
        """Which rooms."""

        rooms: tuple[str, ...] = setting(
            doc="machine rooms whose brokers are consumed from, the part before @ in their names",
            check=lambda rooms: None if rooms else "must name at least one room",
        )

    def __init__(self, options: Options) -> None:
        self._rooms = frozenset(options.rooms)

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """The share of `client_id`; empty for a stranger."""
        if client_id not in clients:
            return []
        index = clients.index(client_id)
        ours = [queue for queue in queues if _in_rooms(queue.broker_name, self._rooms)]
        share, extra = divmod(len(ours), len(clients))
        result = ours[index * share : (index + 1) * share]
        if index < extra:
            result.append(ours[share * len(clients) + index])
        return result


@hookimpl
def register_allocation_strategies() -> Factories:
    """`machine_room`, with the option `rooms`."""
    return {"machine_room": MachineRoom}
