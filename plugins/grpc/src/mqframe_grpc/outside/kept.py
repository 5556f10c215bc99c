"""What others say of things by name, kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, NamedTuple, TypeVar

from mqframe.core.clock import Clock
from mqframe.core.errors import RetryError

T = TypeVar("T")

KEPT_SECONDS: Final = 20.0
NAMES_MAX: Final = 20_000
_OLD_SECONDS: Final = 1.0
"""For so long something is used that could not be asked for anew."""


class _Entry(NamedTuple, Generic[T]):
    value: T
    until: float


class KeptAnswers(Generic[T]):
    """Answers of `ask` by name, each good for `KEPT_SECONDS`; all who want one at the same time share a call.

    What cannot be asked for now (`RetryError`) stays as it was; any other error ends what was known. Beyond
    `most` names the one that was asked for first is forgotten.
    """

    def __init__(self, ask: Callable[[str], Awaitable[T]], clock: Clock, most: int = NAMES_MAX) -> None:
        self._ask = ask
        self._clock = clock
        self._most = most
        self._entries: dict[str, _Entry[T]] = {}
        self._asking: dict[str, asyncio.Task[T]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    async def get(self, name: str) -> T:
        """What there is of `name`. Raises what `ask` raises."""
        entry = self._entries.get(name)
        if entry is not None and self._clock.monotonic() < entry.until:
            return entry.value
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.ensure_future(self._find(name))
            asking.add_done_callback(lambda task: self._found(name, task))
        # One who gives up must not take the answer away from the others.
        return await asyncio.shield(asking)

    def doubt(self) -> None:
        """Ask for everything anew when it is wanted the next time."""
        self._entries = {name: entry._replace(until=0.0) for name, entry in self._entries.items()}

    async def _find(self, name: str) -> T:
        seconds = KEPT_SECONDS
        try:
            value = await self._ask(name)
        except RetryError:
            entry = self._entries.get(name)
            if entry is None:
                raise
            value, seconds = entry.value, _OLD_SECONDS
        except Exception:
            self._entries.pop(name, None)
            raise
        self._entries.pop(name, None)
        self._entries[name] = _Entry(value, self._clock.monotonic() + seconds)
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]
        return value

    def _found(self, name: str, task: asyncio.Task[T]) -> None:
        del self._asking[name]
        if not task.cancelled():
            task.exception()  # looked at: all who waited may have given up
