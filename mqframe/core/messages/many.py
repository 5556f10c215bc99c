"""Many received messages at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqframe.core.messages.compression import UNPACKED_BYTES_MAX
from mqframe.core.messages.message import MessageQueue, ReceivedMessage


class ManyMessages:
    """What is asked of many messages at once. Compiled code has its own answers of messages of its own."""

    def offsets(self, messages: Sequence[ReceivedMessage]) -> list[int]:
        """Their queue offsets."""
        return [message.queue_offset for message in messages]

    def store_bytes(self, messages: Sequence[ReceivedMessage]) -> int:
        """Bytes of their records together."""
        return sum([message.store_size for message in messages])

    def may_have(self, messages: Sequence[ReceivedMessage], name: bytes) -> bool:
        """Whether `name` stands anywhere in the properties of any."""
        return any(name in message._raw_properties for message in messages)

    def rise_in(self, messages: Sequence[ReceivedMessage], queue: MessageQueue, first: int) -> bool:
        """Whether all are of `queue`, from offset `first` on, in order, as far as that is known at once."""
        return False

    def guard(self, messages: Sequence[ReceivedMessage], bytes_max: int, check_crc: bool) -> None:
        """As `guard_bodies`."""
        for message in messages:
            message.unpacked_bytes_max = bytes_max
            message.checks_crc = check_crc


_PLAIN: Final = ManyMessages()


def many_of(messages: Sequence[ReceivedMessage]) -> ManyMessages:
    """What is asked of `messages` at once."""
    found: ManyMessages = getattr(messages[0], "_many", _PLAIN) if messages else _PLAIN
    return found


def guard_bodies(messages: Sequence[ReceivedMessage], bytes_max: int, check_crc: bool) -> None:
    """Let the bodies of `messages` unpack to `bytes_max` bytes at most; `check_crc`: not without a check."""
    if bytes_max != UNPACKED_BYTES_MAX or check_crc:  # else it is what messages have
        many_of(messages).guard(messages, bytes_max, check_crc)
