"""Loops over the messages of a simple consumer: popped ahead, hidden for as long as they need it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.errors import ClosedError, RetryError
from mqframe.net.clock import LoopClock
from mqframe_pop.client.in_hand import AGAIN_SECONDS, MessagesInHand
from mqframe_pop.client.pop_calls import PopCalls
from mqframe_pop.rules.popped import PoppedMessage

LAST_SECONDS: Final = 5.0
"""What acknowledgements that are under way have when a loop ends."""
Receive = Callable[[], Awaitable[list[PoppedMessage]]]


class _Loop:
    """`message`: the one that its body is at."""

    def __init__(self, in_hand: MessagesInHand) -> None:
        self.in_hand = in_hand
        self.message: PoppedMessage | None = None


class MessageLoops:
    """All loops of one consumer of `group`. All methods belong to the loop of `instance`."""

    def __init__(self, group: str, instance: ClientInstance, calls: PopCalls, clock: LoopClock) -> None:
        self._group = group
        self._instance = instance
        self._calls = calls
        self._clock = clock
        self._open: set[_Loop] = set()
        self._stopped = False

    async def messages(
        self, receive: Receive, seconds: float, *, auto_ack: bool
    ) -> AsyncGenerator[PoppedMessage, None]:
        """What `receive` returns, message by message, until the consumer is stopped.

        `seconds`: for how long a pop hides them; what waits for its turn is hidden anew in time, and so is,
        with `auto_ack`, what the body of the loop is at. With it a message is acknowledged when the next one
        is asked for, in the background, together with others.
        """
        loop = _Loop(MessagesInHand(self._group, self._instance, self._calls, self._clock, seconds))
        in_hand = loop.in_hand
        in_hand.start()
        self._open.add(loop)
        try:
            while messages := await self._received(receive):
                in_hand.take(messages, lambda *_: None)
                for message in messages:
                    if not in_hand.has(message):
                        continue  # it waited for too long, and belongs to somebody else
                    loop.message = message
                    if not auto_ack:
                        await in_hand.let_go(message)
                    yield message
                    if loop not in self._open:
                        return  # the consumer was stopped meanwhile
                    in_hand.settle([message])
                    loop.message = None
        finally:
            await self._end(loop)

    async def stop(self) -> None:
        """Others may have what waits, at once; what bodies are at keeps the time that it has."""
        self._stopped = True
        for loop in list(self._open):
            await self._end(loop)

    async def _received(self, receive: Receive) -> list[PoppedMessage]:
        """Messages, or none once the consumer is stopped."""
        while True:
            try:
                messages = await receive()
            except ClosedError:
                if self._stopped:
                    return []
                raise
            except RetryError as problem:
                self._instance.outages.note("messages cannot be received", self._group, problem)
                await self._clock.sleep(AGAIN_SECONDS)
                continue
            self._instance.outages.over("messages cannot be received", self._group)
            if messages:
                return messages

    async def _end(self, loop: _Loop) -> None:
        if loop in self._open:
            self._open.remove(loop)
            await loop.in_hand.give_back_all_but([loop.message])
            await loop.in_hand.stop(LAST_SECONDS)
