"""What a feed needs of the link that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mqframe import AsyncSimpleConsumer, PoppedMessage
from mqframe.core.errors import MqframeError

if TYPE_CHECKING:
    from mqframe_kombu.held import Held, Source


class FeedOwner(Protocol):
    """Joins groups, and decides what is not a matter of one channel."""

    async def join(self, topic: str) -> AsyncSimpleConsumer:
        """A new member of the group of `topic`, started, that settles what is out and consumes nothing."""

    async def is_for_now(self, source: Source, popped: PoppedMessage) -> bool:
        """Whether `popped` is to be handed out; else it has been seen to, and is acknowledged."""

    async def bury(self, held: Held) -> None:
        """Make a dead letter of it. It is acknowledged afterwards."""

    def gave_back(self, held: Held) -> None:
        """A broker took it back, and brings it to its queue a moment later."""

    async def trouble(self, problem: MqframeError, queue: str) -> None:
        """Brokers did not do what was asked. Returns when it may be tried again."""

    def all_well(self) -> None:
        """They did."""
