"""How a group consumes: its model, where it begins, and what becomes of a failed message (system.md §5)."""

from __future__ import annotations

from enum import Enum
from typing import Final

REDELIVER_SECONDS: Final = 5.0
"""A message that failed in a clustering group is consumed again by the same client after this time."""


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
    CONSUME_AGAIN = "consume_again"


def remedy(model: MessageModel) -> Remedy:
    """What to do with a failed message. Handing it back to the broker will be a third answer."""
    return Remedy.DROP if model is MessageModel.BROADCASTING else Remedy.CONSUME_AGAIN
