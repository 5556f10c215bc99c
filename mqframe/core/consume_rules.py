"""How a group consumes: its model, where it begins, and what becomes of a failed message (system.md §5)."""

from __future__ import annotations

from enum import Enum
from typing import Final

REDELIVER_SECONDS: Final = 5.0
"""A failed message that no broker takes back is consumed again by the same client after this time."""


class MessageModel(Enum):
    """Who gets a message: one member of the group, or every member."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class ConsumeFrom(Enum):
    """Where a queue begins for a group that has no offset of it. The values are the wire's words."""

    LAST = "CONSUME_FROM_LAST_OFFSET"
    FIRST = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class Remedy(Enum):
    """What becomes of a message whose listener failed."""

    DROP = "drop"
    HAND_BACK = "hand_back"


def remedy(model: MessageModel) -> Remedy:
    """What to do with a failed message: nobody else waits for it in broadcasting."""
    return Remedy.DROP if model is MessageModel.BROADCASTING else Remedy.HAND_BACK
