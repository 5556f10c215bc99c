"""Calls that wait for messages; they are answered when the door stops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from mqframe.core.requests.serving import Reply
from mqframe.hooks.interfaces import answered_meanwhile
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.transport.call import GrpcCall


class HeldCalls:
    """What waits for brokers that have no messages yet. `ended`: nobody waits any more."""

    def __init__(self) -> None:
        self._waiting: dict[GrpcCall, None] = {}
        self._closed = asyncio.Event()
        self.ended = False

    async def over(self, call: GrpcCall, asking: Coroutine[Any, Any, Reply]) -> Reply:
        """What `asking` returns for `call`. Raises `Rejected` MESSAGE_NOT_FOUND once waits have ended.

        Cancelled, it tells as `Backend.ask` whether the answer was there already (`answered_meanwhile`).
        """
        if self.ended:
            asking.close()
            # Most ask again at once, when they are told that there is nothing.
            await self._closed.wait()
            raise _nothing()
        self._waiting[call] = None
        try:
            return await asking
        except asyncio.CancelledError as given_up:
            if not self.ended or call.ended or call.task is None:
                raise
            call.task.uncancel()
            if (reply := answered_meanwhile(given_up)) is not None:
                return reply
            raise _nothing() from None
        finally:
            del self._waiting[call]

    def end(self) -> None:
        """The door stops soon: answer those that wait. Those that come now are answered by `close`."""
        self.ended = True
        for call in tuple(self._waiting):
            if call.task is not None:
                call.task.cancel()

    def close(self) -> None:
        """The door stops."""
        self.end()
        self._closed.set()


def _nothing() -> Rejected:
    return Rejected(m.Code.MESSAGE_NOT_FOUND, "no new message: the door stops")
