"""The type of a message as operators count it: normal, in order, delayed, half (TopicMessageType.java)."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from mqframe.core.delay.options import DELAY_NAMES
from mqframe.core.messages import properties as p

NORMAL: Final = "normal"
FIFO: Final = "fifo"
DELAY: Final = "delay"
TRANSACTION: Final = "transaction"


def message_type(properties: Container[str], *, is_half: bool = False) -> str:
    """The type of a message with the names `properties`; `is_half`: it waits for its transaction's end."""
    if is_half:
        return TRANSACTION
    if p.SHARDING_KEY in properties:
        return FIFO
    return NORMAL if all(name not in properties for name in DELAY_NAMES) else DELAY
