"""Consistent hashing: when queues are added, a key stays where it is or moves to a new queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqframe_consistenthash.ring import HashRing, queue_text

from mqframe.core.config.settings import setting, settings, within
from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector


class MonotonicSelector(QueueSelector):
    """Queues stand on a ring (the one of the consistent-hash allocation), keys are looked up on it."""

    @settings("plugins.monotonic")
    class Options:
        """How even the spread gets."""

        virtual_nodes: int = setting(
            100,
            doc="how often each queue stands on the ring; more is more even; the same for all producers",
            check=within(1, 100_000),
        )

    def __init__(self, options: Options | None = None) -> None:
        self._virtual_nodes = (options or self.Options()).virtual_nodes
        # Replaced as one, so that threads that share the selector see queues and ring that belong together.
        self._known: tuple[tuple[MessageQueue, ...], HashRing, dict[str, MessageQueue]] | None = None

    def select(self, queues: Sequence[MessageQueue], message: Message, key: Any) -> MessageQueue:
        """The queue that the key belongs to. Raises `FixError` for keys that are not text or a number."""
        if not isinstance(key, str | int):
            raise FixError(f"sharding key {key!r} must be text or a whole number; convert it to text")
        now = tuple(queues)
        known = self._known
        if known is None or known[0] != now:
            by_text = {queue_text(queue): queue for queue in now}
            known = self._known = (now, HashRing(by_text, self._virtual_nodes), by_text)
        _, ring, by_text = known
        node = ring.node_of(str(key))
        assert node is not None
        return by_text[node]
