"""Forbidden-check hooks: the last check of a message before a producer sends it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import attrs

from mqframe.core.errors import FixError
from mqframe.core.messages.message import Message, MessageQueue


class Forbidden(FixError):
    """The one error by which a forbidden-check hook stops a send; it reaches the caller."""


@attrs.frozen
class ForbiddenContext:
    """One message about to be sent."""

    group: str
    message: Message
    queue: MessageQueue
    broker_address: str
    mode: str


class ForbiddenHook(ABC):
    """May stop a send. Synchronous; may not block. Anything but `Forbidden` is logged and isolated."""

    name: str = ""

    @abstractmethod
    def check(self, context: ForbiddenContext) -> None:
        """Raise `Forbidden` to stop the send."""
