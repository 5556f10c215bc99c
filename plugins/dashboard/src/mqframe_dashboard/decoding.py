"""Bodies that are no text by themselves, decoded by what is installed for that: plugins know schemas.

Entry points in the group `mqframe.bodies` bring it, as they do for the command line. They work with a
blocking client: here they run in a thread, and what they ask of name servers is asked by the dashboard's own.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.installed import by_name, entry_points
from mqframe.log import get_logger
from mqframe_dashboard.asking import Asking

T = TypeVar("T")
GROUP: Final = "mqframe.bodies"
ANSWER_SECONDS: Final = 10.0
CHARS_MAX: Final = 64 << 10
"""Of a decoded body that is shown."""
log = get_logger("dashboard")


async def decoded(asking: Asking, messages: Sequence[ReceivedMessage]) -> dict[ReceivedMessage, str]:
    """What is in the bodies of those of `messages` that somebody can decode, as JSON."""
    offers = list(by_name(entry_points(group=GROUP)).values())
    if not offers or not messages:
        return {}
    admin = _Blocking(asking, asyncio.get_running_loop())
    return await asyncio.to_thread(_decode, [each.load for each in offers], admin, list(messages))


def _decode(
    loads: Sequence[Callable[[], Any]], admin: _Blocking, messages: Sequence[ReceivedMessage]
) -> dict[ReceivedMessage, str]:
    found: dict[ReceivedMessage, str] = {}
    for load in loads:
        try:
            decoder = load()(admin)
            for message in messages:
                if message not in found and (value := decoder.value(message)) is not None:
                    found[message] = _text(value)
        except Exception:  # isolation boundary: bodies are shown as they are
            log.exception("bodies could not be decoded")
    return found


def _text(value: Any) -> str:
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
    return text if len(text) <= CHARS_MAX else f"{text[:CHARS_MAX]}…"


class _Blocking:
    """As much of an `Admin` as decoders need, for a thread: what name servers keep."""

    def __init__(self, asking: Asking, loop: asyncio.AbstractEventLoop) -> None:
        self._asking = asking
        self._loop = loop
        self.kv = self

    def list_each(self, namespace: str) -> builtins.list[dict[str, str]]:
        return self._wait(self._asking.ask(self._asking.admin.kv.list_each, namespace))

    def list(self, namespace: str) -> dict[str, str]:
        return self._wait(self._asking.ask(self._asking.admin.kv.list, namespace))

    def get(self, namespace: str, key: str) -> str | None:
        return self._wait(self._asking.ask(self._asking.admin.kv.get, namespace, key))

    def _wait(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result(ANSWER_SECONDS)
