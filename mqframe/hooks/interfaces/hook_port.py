"""What hooks may use of their client, what those of sends and consumption have in common; other plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from mqframe.core.messages.message import Message

C = TypeVar("C")


class HookPort(Protocol):
    """Handed to `SendHook.attach` and `ConsumeHook.attach`, for hooks that send messages of their own."""

    @property
    def client_id(self) -> str:
        """How brokers know the client."""

    def now_ms(self) -> int:
        """Wall-clock time, ms since 1970."""

    def send(self, message: Message) -> bool:
        """Hand `message` over to be sent soon, past all send hooks; from any thread, never blocks.

        False when too many are under way: the message is dropped. One that cannot be sent is logged.
        """

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` every `seconds`, in the thread of the client's loop, until the client stops."""

    async def values(self, namespace: str) -> list[dict[str, str]]:
        """What each name server that answers keeps under `namespace`. Raises `RetryError` when none does."""


class ClientHook(Generic[C]):
    """Sees what a client does. Synchronous; may not block. Exceptions are logged with its name and isolated.

    Implement what is needed; before-hooks run in order, after-hooks in reverse.
    """

    name: str = ""
    producer_group: str = "_INNER_HOOK_PRODUCER"
    """What the name of the producer group begins with as which messages of the hook's own are sent."""

    def before(self, context: C) -> None:
        """Called before each try of a send, or each call of a listener."""

    def after(self, context: C) -> None:
        """Called after it, whatever came of it."""

    def attach(self, port: HookPort) -> Awaitable[object] | None:
        """Called once, when the client starts, in its loop; the start waits for what it returns to end."""

    def detach(self) -> None:
        """Called when the client stops, in its loop: hand over what is left; it is still sent."""


class Plugins(Protocol):
    """Handed to a factory that has a parameter `plugins`: the manager that makes the plugin.

    What is chosen through it obeys what the application registered and blocked there.
    """

    def create(self, kind: str, choice: object, options: object = None) -> Any:
        """The object that `choice` stands for: a name, a class, an object.

        `options`: a mapping or an instance of its `Options`. Raises `PluginError` or `SettingError`.
        """

    def names(self, kind: str) -> list[str]:
        """The names that can be chosen for `kind`, sorted. Imports nothing."""
