"""The type of a message as operators count it: in order, delayed, half … (TopicMessageType.java)."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from mqframe.core.delay.options import DELAY_NAMES
from mqframe.core.messages import properties as p
from mqframe.core.messages.whole_numbers import whole_number

NORMAL: Final = "normal"
FIFO: Final = "fifo"
DELAY: Final = "delay"
TRANSACTION: Final = "transaction"
PRIORITY: Final = "priority"


def message_type(properties: Container[str], *, is_half: bool = False) -> str:
    """The type of a message with the names `properties`; `is_half`: it waits for its transaction's end."""
    if is_half:
        return TRANSACTION
    if p.SHARDING_KEY in properties:
        return FIFO
    if any(name in properties for name in DELAY_NAMES):
        return DELAY
    return PRIORITY if p.PRIORITY in properties else NORMAL


def is_half(properties: Mapping[str, str], reconsume_times: int) -> bool:
    """Whether a message that is sent waits for its transaction.

    Old clients send a failed message again with all its properties: one with a delay level is no half.
    """
    if properties.get(p.TRANSACTION_PREPARED, "").lower() != "true":
        return False
    return not (reconsume_times > 0 and (whole_number(properties.get(p.DELAY, "").strip()) or 0) > 0)
