"""Messages that a channel has, where they came from, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections import deque
from enum import Enum
from typing import Any

import attrs

from mqframe import AsyncSimpleConsumer, PoppedMessage


class HeldOutcome(Enum):
    """What becomes of a message."""

    ACK = "ack"
    REQUEUE = "requeue"
    DEAD_LETTER = "dead letter"


@attrs.define(eq=False)
class Source:
    """A topic that a channel consumes from: one step of a queue.

    `late`: what came when it was not to be consumed from any more.
    """

    queue: str
    step: int
    consumer: AsyncSimpleConsumer
    poll: asyncio.Task[bool] | None = attrs.field(default=None, init=False)
    in_trouble: bool = attrs.field(default=False, init=False)
    late: list[Held] = attrs.field(factory=list, init=False)
    acks: deque[Held] = attrs.field(factory=deque, init=False)
    flush: asyncio.Task[None] | None = attrs.field(default=None, init=False)


@attrs.define(eq=False)
class Held:
    """A popped message that is ours until it is settled. `delivered`: whether it reached a callback."""

    source: Source
    popped: PoppedMessage
    delivered: bool = attrs.field(default=False, init=False)
    renewal: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    def named(self) -> dict[str, Any]:
        """Fields by which a line of the log names it."""
        message = self.popped
        return {
            "queue": self.source.queue,
            "message_id": message.message_id,
            "keys": " ".join(message.keys),
            "attempt": message.delivery_attempt,
        }
