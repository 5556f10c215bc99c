"""The priority of a message, a property of it (Message.java, TopicMessageType.java)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mqframe.core.errors import MessageError
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import Message, ReceivedMessage, with_properties
from mqframe.core.messages.whole_numbers import whole_number
from mqframe.core.sending.message_type import NORMAL, PRIORITY, is_half, message_type

PRIORITY_MAX: Final = 2**31 - 1


def with_priority(message: Message, priority: int) -> Message:
    """A copy of `message` with a `priority`, 0 or more; larger is more urgent.

    A topic's last queue takes all that are as urgent as its number or more. Raises `MessageError`.
    """
    if not 0 <= priority <= PRIORITY_MAX:
        raise MessageError(f"priority is {priority}; it may be 0 to {PRIORITY_MAX}, larger is more urgent")
    return with_properties(message, {p.PRIORITY: str(priority)})


def priority_of(message: Message | ReceivedMessage) -> int | None:
    """The priority of a message, `None` where it has none."""
    return priority_in(message.properties)


def priority_in(properties: Mapping[str, str]) -> int | None:
    """The priority that `properties` name, `None` for none and for what is no number from 0 to 2³¹ - 1."""
    found = whole_number(properties.get(p.PRIORITY, ""))
    return found if found is not None and 0 <= found <= PRIORITY_MAX else None


def is_of_another_type(properties: Mapping[str, str]) -> bool:
    """Whether a message is a half one, a delayed one or one in order: none of these has a priority."""
    return message_type(properties, is_half=is_half(properties, 0)) not in (NORMAL, PRIORITY)
