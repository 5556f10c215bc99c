"""What is sent to the target: messages as elements of batches, none of which is larger than it may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from mqframe import Message, ReceivedMessage, encode_element, encode_properties
from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import BODY_BYTES_MAX
from mqframe_mirror.rules.marks import Mark, alone, copied_properties

ALONE_BYTES: Final = BODY_BYTES_MAX - 64 * 1024
"""Copies of this size and above travel alone, and packed: brokers limit a request as they limit a body."""


class Copy(NamedTuple):
    """A copy that is to be sent. `element`: as a batch holds it; `single`: in place of that, alone."""

    offset: int
    element: bytes
    single: Message | None

    @property
    def size(self) -> int:
        """Bytes that it takes in a request, about."""
        return len(self.element) if self.single is None else len(self.single.body)


def copy_of(message: ReceivedMessage, cluster: str, topic: str) -> Copy:
    """The copy of a message of `cluster` for the target's `topic`.

    Raises `BodyUnreadable` for a body that is not what was stored, `MessageError` for properties that do not
    fit a record once the copy's are there.
    """
    mark = Mark(cluster, message.broker_name, message.queue_id, message.queue_offset, message.born_timestamp)
    properties = copied_properties(message.properties, message.message_id, mark)
    text = encode_properties(properties).encode()
    if len(text) > p.PROPERTIES_BYTES_MAX:
        raise MessageError(
            f"with what its copy says of itself the properties have {len(text)} bytes,"
            f" {p.PROPERTIES_BYTES_MAX} are allowed"
        )
    body = message.body
    if len(body) + len(text) < ALONE_BYTES:
        return Copy(message.queue_offset, encode_element(body, text, message.flag), None)
    kept = alone(properties)
    single = Message(topic, body, message.tag, message.keys, kept, message.flag)
    return Copy(message.queue_offset, b"", single)


def batches(copies: Iterable[Copy], count_max: int, bytes_max: int) -> Iterator[Sequence[Copy]]:
    """`copies`, in order, in batches of one request each; what travels alone is a batch of its own."""
    found: list[Copy] = []
    size = 0
    for copy in copies:
        full = len(found) >= count_max or size + copy.size > bytes_max
        if found and (full or copy.single is not None or found[-1].single is not None):
            yield found
            found, size = [], 0
        found.append(copy)
        size += copy.size
    if found:
        yield found
