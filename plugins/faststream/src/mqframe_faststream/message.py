"""Messages as handlers see them, and where their fate is decided."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from faststream.exceptions import FeatureNotSupportedException
from faststream.message import StreamMessage

from mqframe import AsyncSimpleConsumer, ConsumeResult, PoppedMessage, ReceivedMessage

DEAD_LEVEL = -1
"""The delay level that makes a message a dead letter at once."""

RawMessage = ReceivedMessage | tuple[ReceivedMessage, ...]
"""What a subscriber consumes at once: a message, or with `batch=True` several."""


class Settlement(Protocol):
    """Where it is said what becomes of a message."""

    async def ack(self) -> None:
        """It is done."""

    async def nack(self, delay_level: int) -> None:
        """It is to come again; the level names the wait, 0 leaves it to the broker."""

    async def reject(self) -> None:
        """It is a dead letter."""


class Delivery:
    """What is to be answered for the messages of one call of a listener.

    `verdict`: `None` until somebody decided; `delay_level`: of messages that failed; `problem`: their bodies
    cannot be unpacked; `failure`: what the handler of a request raised; `answered`: its result is on its way.
    """

    __slots__ = ("_decided", "answered", "delay_level", "failure", "problem", "verdict")

    def __init__(self) -> None:
        self.verdict: ConsumeResult | None = None
        self.delay_level = 0
        self.problem: Exception | None = None
        self.failure: Exception | None = None
        self.answered = False
        self._decided: asyncio.Future[None] | None = None

    async def ack(self) -> None:
        """It is done."""
        self._decide(ConsumeResult.SUCCESS)

    async def nack(self, delay_level: int) -> None:
        """It is to come again."""
        self.delay_level = delay_level
        self._decide(ConsumeResult.RECONSUME_LATER)

    async def reject(self) -> None:
        """It is a dead letter."""
        self.delay_level = DEAD_LEVEL
        self._decide(ConsumeResult.RECONSUME_LATER)

    @property
    def is_refused(self) -> bool:
        """Whether somebody made dead letters of them, and the handler gave no answer."""
        rejected = self.verdict is ConsumeResult.RECONSUME_LATER and self.delay_level == DEAD_LEVEL
        return rejected and not self.answered

    async def decided(self) -> None:
        """Wait until somebody has decided, or `give_up` was called."""
        if self.verdict is None:
            self._decided = asyncio.get_running_loop().create_future()
            await self._decided

    def give_up(self) -> None:
        """Nobody will decide any more: what is open comes again."""
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(None)

    def _decide(self, verdict: ConsumeResult) -> None:
        self.verdict = verdict
        self.give_up()


class PoppedSettlement:
    """Of a message that was asked for with `get_one` or an `async for`."""

    __slots__ = ("_consumer", "_message")

    def __init__(self, consumer: AsyncSimpleConsumer, message: PoppedMessage) -> None:
        self._consumer = consumer
        self._message = message

    async def ack(self) -> None:
        """It is done. Raises `ReceiptError` when its time was over."""
        await self._consumer.ack(self._message)

    async def nack(self, delay_level: int) -> None:
        """It comes again in a second; there are no levels here."""
        await self._consumer.change_invisible_duration(self._message, 1.0)

    async def reject(self) -> None:
        """Raises `FeatureNotSupportedException`: such a message dies only by being tried too often."""
        raise FeatureNotSupportedException(
            "a message from get_one() cannot be made a dead letter; ack() or nack() it"
        )


class MqframeMessage(StreamMessage[RawMessage]):
    """A message, or a batch of them, on its way through a handler.

    `raw_message` is what the consumer got: a `mqframe.ReceivedMessage`, of a batch a tuple of them. `headers`
    are the properties that applications set; of a batch those of its first message.
    """

    settlement: Settlement | None = None
    """`None` where nobody asks, as in tests without a broker."""

    @property
    def messages(self) -> Sequence[ReceivedMessage]:
        """All messages of the batch; otherwise the one."""
        raw = self.raw_message
        return raw if isinstance(raw, tuple) else (raw,)

    @property
    def tag(self) -> str | None:
        """The tag, of a batch that of its first message."""
        return self.messages[0].tag

    @property
    def keys(self) -> list[str]:
        """The keys, of a batch those of its first message."""
        return self.messages[0].keys

    @property
    def topic(self) -> str:
        """Where it was sent to."""
        return self.messages[0].topic

    @property
    def reconsume_times(self) -> int:
        """How often it was tried before, of a batch the most of all its messages."""
        return max(message.reconsume_times for message in self.messages)

    async def ack(self) -> None:
        """It is done."""
        if self.committed is None and self.settlement is not None:
            await self.settlement.ack()
        await super().ack()

    async def nack(self, delay_level: int = 0) -> None:
        """It is to come again, when `delay_level` says (1 is the first); 0 leaves that to the broker.

        In order levels do not count: the queue waits, and then has this message again.
        """
        if self.committed is None and self.settlement is not None:
            await self.settlement.nack(delay_level)
        await super().nack()

    async def reject(self) -> None:
        """It is a dead letter, without another try."""
        if self.committed is None and self.settlement is not None:
            await self.settlement.reject()
        await super().reject()
