"""Codecs: how values become bodies of messages, and bodies values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Codec(ABC):
    """Turns values into bodies and back. Synchronous, and used by several threads at once.

    `name`: what errors call it. `content_type`: the media type of its bodies, which goes into a property of
    each message, for receivers of other languages.
    """

    name: str
    content_type: str

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """The body for `value`; a byte at least, as brokers take no empty bodies.

        Raises `EncodeError` for a value that it has no body for; it names its type, not its contents.
        """

    @abstractmethod
    def decode(self, body: bytes, type: Any) -> Any:
        """The value in `body`, which is a `type` (`Any`: whatever is there).

        Raises `DecodeError(problem, path)` for a body that is none, and says nothing in it of what the body
        holds; a `RetryError` where another try may succeed, for example when a registry does not answer.
        """

    def check(self, type: Any) -> None:
        """Asked once, when a topic is subscribed. Raises `FixError` for a `type` that it can never decode."""
        return

    def schema(self, value: Any) -> str:
        """What names the schema of the body of `value`, for a property of its message; "" for nothing."""
        return ""
