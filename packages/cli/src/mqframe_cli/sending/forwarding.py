"""Messages that are sent on to another topic: copies that keep what their senders gave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import count
from typing import Final

from mqframe_admin.rules.dead_letters import NOTED_ON_THE_WAY

from mqframe.core.messages import properties as p
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

MARK: Final = "MQFRAME_FORWARDED_FROM"
"""Property of a copy: where the message lies that it was made of, "topic@broker:queue id:queue offset"."""


def forwarded(message: ReceivedMessage) -> bytes:
    """A copy of `message` as an element of a batch: body, keys, tag, properties, flag and unique key stay.

    Raises `BodyUnreadable` where the body cannot be unpacked.
    """
    kept = {name: value for name, value in message.properties.items() if name not in NOTED_ON_THE_WAY}
    kept.setdefault(p.UNIQUE_KEY, message.message_id)
    kept[p.WAIT] = "true"
    kept[MARK] = f"{message.topic}@{message.broker_name}:{message.queue_id}:{message.queue_offset}"
    return encode_element(message.body, p.encode_properties(kept).encode(), message.flag)


class Together(Enum):
    """Which messages stay in order, and so in one queue, besides those with one stored sharding key.

    Most senders use a sharding key to choose a queue, and store it nowhere.
    """

    NONE = "none"
    KEY = "key"
    QUEUE = "queue"

    def key_of(self, message: ReceivedMessage) -> str | None:
        """What `message` has in common with those that it stays in order with; `None`: nothing."""
        if stored := message.properties.get(p.SHARDING_KEY):
            return stored
        if self is Together.QUEUE:
            return f"{message.broker_name}:{message.queue_id}"
        return message.keys[0] if self is Together.KEY and message.keys else None


class Forwarding:
    """Shares copies among the `queues` of a topic, in batches of at most `bytes_max`.

    Those that are to stay `together` go where their key belongs, as a hash selector finds it; the others of
    one call go to one queue, of each call to the next one.
    """

    def __init__(
        self, queues: Sequence[MessageQueue], bytes_max: int, together: Together = Together.NONE
    ) -> None:
        self._queues = queues
        self._bytes_max = bytes_max
        self._together = together
        self._turn = count()

    def batches(self, messages: Sequence[ReceivedMessage]) -> Iterator[tuple[MessageQueue, bytes]]:
        """Each batch with its queue; those of one queue are to be sent one after the other."""
        turn = next(self._turn)
        found: dict[MessageQueue, list[bytes]] = {}
        for message in messages:
            key = self._together.key_of(message)
            place = abs(java_hash(key)) if key else turn
            found.setdefault(self._queues[place % len(self._queues)], []).append(forwarded(message))
        for queue, elements in found.items():
            for batch in self._cut(elements):
                yield queue, batch

    def _cut(self, elements: Sequence[bytes]) -> Iterator[bytes]:
        gathered: list[bytes] = []
        size = 0
        for element in elements:
            if gathered and size + len(element) > self._bytes_max:
                yield b"".join(gathered)
                gathered, size = [], 0
            gathered.append(element)
            size += len(element)
        yield b"".join(gathered)
