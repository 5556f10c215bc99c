"""The consistent-hash ring of the Java client, bit for bit (ConsistentHashRouter.java).

Each node stands on the ring several times, as "<node>-0", "<node>-1", …; a position is the first four bytes
of the MD5 of that text, big-endian. A key belongs to the first node at or after its own position.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from mqframe.core.messages.message import MessageQueue


def ring_position(text: str) -> int:
    """Where `text` stands on the ring, in [0, 2^32)."""
    digest = hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def queue_text(queue: MessageQueue) -> str:
    """The text of a queue that the Java client hashes (MessageQueue.toString)."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


class HashRing:
    """A ring over `nodes` (texts without doubles), each standing on it `virtual_nodes` times."""

    def __init__(self, nodes: Iterable[str], virtual_nodes: int) -> None:
        # Where two positions meet, the later node takes the place, as a put into a Java map does.
        owners = {ring_position(f"{node}-{i}"): node for node in nodes for i in range(virtual_nodes)}
        self._positions = sorted(owners)
        self._owners = [owners[position] for position in self._positions]

    def node_of(self, key: str) -> str | None:
        """The node that `key` belongs to; `None` on an empty ring."""
        if not self._positions:
            return None
        at = bisect_left(self._positions, ring_position(key))
        return self._owners[at % len(self._owners)]

    def nodes_from(self, key: str) -> Iterator[str]:
        """The nodes behind `key` in the order of the ring, once around; each as often as it stands on it."""
        start = bisect_left(self._positions, ring_position(key))
        for at in range(start, start + len(self._owners)):
            yield self._owners[at % len(self._owners)]
