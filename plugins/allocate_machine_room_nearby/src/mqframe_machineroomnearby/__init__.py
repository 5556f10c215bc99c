"""Queues go to members in the broker's own machine room first (AllocateMachineRoomNearby.java)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import SettingError
from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import AllocationStrategy, Plugins
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import Factories, hookimpl

__all__ = ["MachineRoomNearby", "register_allocation_strategies"]

T = TypeVar("T")


class MachineRoomNearby(AllocationStrategy):
    """Splits queues and members by room and lets another strategy share out what is in each.

    Queues of a room without a member are shared by all. Rooms are read from names; override `room_of_queue`
    and `room_of_client` to find them otherwise. All members of a group must use the same rule.
    """

    @settings("plugins.machine_room_nearby")
    class Options:
        """How rooms are read, and what shares out within them."""

        inner: str | AllocationStrategy = setting(
            "averagely", doc="strategy used within a room: a name, or an object from code"
        )
        inner_options: Mapping[str, Any] = setting(factory=dict, doc="options of the inner strategy")
        broker_separator: str = setting("@", doc="a broker's room is what stands before this in its name")
        client_separator: str = setting("-", doc="a client's room is what stands before this in its id")

    def __init__(self, options: Options | None = None, *, plugins: Plugins | None = None) -> None:
        """Raises `PluginError` for an inner strategy that `plugins`, where this one comes from, lacks."""
        self.options = options or self.Options()
        plugins = plugins or PluginManager()
        self.inner: AllocationStrategy = plugins.create(
            "allocation", self.options.inner, self.options.inner_options
        )
        self.wire_name = f"MACHINE_ROOM_NEARBY-{self.inner.wire_name}"

    def room_of_queue(self, queue: MessageQueue) -> str:
        """The machine room of the queue's broker; "" when it is not known."""
        room, found, _ = queue.broker_name.partition(self.options.broker_separator)
        return room if found else ""

    def room_of_client(self, client_id: str) -> str:
        """The machine room of a member; "" when it is not known."""
        room, found, _ = client_id.partition(self.options.client_separator)
        return room if found else ""

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """Queues of the member's own room, then its share of rooms without members, by name of the room.

        Raises `SettingError` when the room of a queue or of a member is not known.
        """
        if client_id not in clients:
            return []
        queues_in = _by_room(queues, self.room_of_queue, "broker of queue")
        clients_in = _by_room(clients, self.room_of_client, "client")
        own = self.room_of_client(client_id)
        result: list[MessageQueue] = []
        if own in queues_in:
            result += self.inner.allocate(group, client_id, queues_in[own], clients_in[own])
        # Java orders rooms by UTF-16 units.
        for room in sorted(queues_in.keys() - clients_in.keys(), key=lambda r: r.encode("utf-16-be")):
            result += self.inner.allocate(group, client_id, queues_in[room], clients)
        return result


def _by_room(things: Iterable[T], room_of: Callable[[T], str], what: str) -> Mapping[str, list[T]]:
    rooms: dict[str, list[T]] = defaultdict(list)
    for thing in things:
        room = room_of(thing)
        if not room:
            raise SettingError(f"machine room of {what} {thing} is not known; check the names and separators")
        rooms[room].append(thing)
    return rooms


@hookimpl
def register_allocation_strategies() -> Factories:
    """`machine_room_nearby`, with `inner`, `inner_options`, `broker_separator` and `client_separator`."""
    return {"machine_room_nearby": MachineRoomNearby}
