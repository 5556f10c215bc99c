"""What a broker is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from mqframe.net.call import Handler
from mqframe.net.peer import Peer


class Periodic(NamedTuple):
    """Something that a part does every `seconds` while the broker runs; `name` is for the log."""

    seconds: float
    action: Callable[[], Awaitable[object] | object]
    name: str


class Part:
    """One piece of a broker: a few request codes, perhaps timers. Implement what is needed.

    All methods are called in the broker's loop. Parts start in the order in which they are listed, after
    tables and store were loaded and before a port answers; they stop in reverse, while the store is open.
    """

    def handlers(self) -> dict[int, Handler]:
        """The request codes served here."""
        return {}

    def periodic(self) -> list[Periodic]:
        """What is to be done again and again."""
        return []

    async def start(self) -> None:
        """The broker starts."""

    async def stop(self) -> None:
        """The broker stops in good order; requests are not served any more."""

    def abandon(self) -> None:
        """The broker ends as a killed process would: let go of files and timers, save nothing."""

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """Messages with these tags codes are in the queue now, which ends at `max_offset`."""

    def connection_closed(self, peer: Peer) -> None:
        """A client's connection ended."""
