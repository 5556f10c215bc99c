"""What a hook may use of the client that it watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqframe.core.message import Message


class HookPort(Protocol):
    """Handed to `SendHook.attach` and `ConsumeHook.attach`, for hooks that send messages of their own."""

    @property
    def client_id(self) -> str:
        """How brokers know the client."""
        ...

    def now_ms(self) -> int:
        """Wall-clock time, ms since 1970."""
        ...

    def send(self, message: Message) -> bool:
        """Hand `message` over to be sent soon, past all send hooks; from any thread, never blocks.

        False when too many are under way: the message is dropped. One that cannot be sent is logged.
        """
        ...

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` every `seconds`, in the thread of the client's loop, until the client stops."""
        ...
