"""The queue by the Java hash code of the key: the default selector (SelectMessageQueueByHash.java)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqframe.core.errors import FixError
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.hooks.interfaces import QueueSelector


def java_hash_code(key: Any) -> int:
    """`hashCode()` of the Java value that `key` stands for, a signed 32-bit number.

    str is String, bool is Boolean, int is Integer where it fits in 32 bits, else Long. Raises `FixError` for
    other types and larger numbers, whose Java hash codes are not the same in every process or mean nothing.
    """
    if isinstance(key, str):
        return java_hash(key)
    if isinstance(key, bool):
        return 1231 if key else 1237
    if not isinstance(key, int) or not -(1 << 63) <= key < 1 << 63:
        raise FixError(f"sharding key {key!r} must be text, a 64-bit number or a bool; convert it to text")
    if -(1 << 31) <= key < 1 << 31:
        return key
    low = (key ^ ((key & 0xFFFFFFFFFFFFFFFF) >> 32)) & 0xFFFFFFFF
    return low - (1 << 32) if low & 0x80000000 else low


class HashSelector(QueueSelector):
    """Messages with one key go to one queue while the number of queues stays; the Java client agrees."""

    def select(self, queues: Sequence[MessageQueue], message: Message, key: Any) -> MessageQueue:
        """The queue at |hash code| modulo the number of queues. Raises `FixError` for a key without one."""
        return queues[abs(java_hash_code(key)) % len(queues)]
