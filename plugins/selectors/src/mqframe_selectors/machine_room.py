"""Only queues of brokers in named machine rooms.

The Java client has a selector of this name whose rule was never written (it selects nothing); the broker
names `room@name` are those of its allocation strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.hash_selector import java_hash_code
from mqframe.hooks.interfaces import QueueSelector


class MachineRoomSelector(QueueSelector):
    """Among the queues in the rooms: by the hash code of the key, or in turn where there is no key."""

    @settings("plugins.machine_room")
    class Options:
        """Which rooms."""

        rooms: tuple[str, ...] = setting(
            doc="machine rooms whose brokers are sent to, the part before @ in their names",
            check=lambda rooms: None if rooms else "must name at least one room",
        )

    def __init__(self, options: Options) -> None:
        self._rooms = frozenset(options.rooms)
        self._turn = count()

    def select(self, queues: Sequence[MessageQueue], message: Message, key: Any) -> MessageQueue:
        """A queue in the rooms. Raises `FixError` where none of `queues` is, or the key has no hash code."""
        ours = [queue for queue in queues if self._room(queue) in self._rooms]
        if not ours:
            rooms = ", ".join(sorted(self._rooms))
            raise FixError(f"topic {message.topic} has no queue in the machine rooms {rooms}")
        at = next(self._turn) if key is None else abs(java_hash_code(key))
        return ours[at % len(ours)]

    @staticmethod
    def _room(queue: MessageQueue) -> str | None:
        room, found, _ = queue.broker_name.partition("@")
        return room if found else None
