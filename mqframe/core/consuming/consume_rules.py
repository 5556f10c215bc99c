"""How a group consumes: its model, and where it begins (behaviour.md §5).

Source: RebalancePushImpl.java.
"""

from __future__ import annotations

from enum import Enum

from mqframe.core.errors import FixError
from mqframe.core.messages.names import RETRY_PREFIX


class MessageModel(Enum):
    """Who gets a message: one member of the group, or every member."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class OnDecodeError(Enum):
    """What becomes of a message whose body cannot be decoded."""

    DEAD_LETTER = "dead_letter"
    RETRY = "retry"
    DROP = "drop"


OnDecode = OnDecodeError | str | None


def decode_error_choice(word: OnDecodeError | str) -> OnDecodeError:
    """What `word` names. Raises `FixError`."""
    try:
        return OnDecodeError(word)
    except ValueError:
        known = ", ".join(each.value for each in OnDecodeError)
        raise FixError(f"on_decode_error is {word!r}; choose one of {known}") from None


class ConsumeFrom(Enum):
    """Where a queue begins for a group that has no offset of it. The values are the wire's words."""

    LAST = "CONSUME_FROM_LAST_OFFSET"
    FIRST = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class Ask(Enum):
    """What to ask the broker for, where the group has no offset of the queue."""

    MAX = "max"
    MIN = "min"
    TIME = "time"


def first_offset(topic: str, stored: int | None, where: ConsumeFrom) -> int | Ask:
    """The offset to begin at, or the question whose answer it is.

    `stored`: the offset that the offset store holds for the group, `None` when there is none. A retry topic
    is consumed from its beginning, except by a group that begins at a time.
    """
    if stored is not None and stored >= 0:
        return stored
    retry = topic.startswith(RETRY_PREFIX)
    if where is ConsumeFrom.LAST:
        return 0 if retry else Ask.MAX
    if where is ConsumeFrom.FIRST:
        return Ask.MIN
    return Ask.MAX if retry else Ask.TIME
