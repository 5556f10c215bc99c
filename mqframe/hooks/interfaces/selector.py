"""Queue selectors: how the queue of a message is chosen from its sharding key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from mqframe.core.messages.message import Message, MessageQueue


class QueueSelector(ABC):
    """Chooses a queue for a message. Synchronous; may not block."""

    @abstractmethod
    def select(self, queues: Sequence[MessageQueue], message: Message, key: Any) -> MessageQueue:
        """One of `queues` (sorted, not empty) for `message`; `key` is the sharding key that the sender gave.

        Raises `FixError` when no queue is acceptable.
        """
