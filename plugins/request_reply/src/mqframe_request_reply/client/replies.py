"""Replies of request-reply: those that brokers push to this client, and the requests that wait for them.

Source: ClientRemotingProcessor.receiveReplyMessage.
"""

from __future__ import annotations

import asyncio
import uuid

from mqframe.core.clock import Timer
from mqframe.core.errors import ClosedError, RequestTimeout
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import CORRELATION_ID
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe_request_reply.requests import PushReplyMessageToClient
from mqframe_request_reply.rules.replies import pushed_reply
from mqframe_request_reply.rules.request_table import RequestTable

log = get_logger("client")

Waiter = asyncio.Future[ReceivedMessage]


class Replies:
    """All requests of one client instance that wait, on its loop. One timer serves them."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self._table: RequestTable[Waiter] = RequestTable()
        self._timer: Timer | None = None
        self._timer_at = 0.0
        self._closed = False

    def __len__(self) -> int:
        return len(self._table)

    def expect(self, deadline: float) -> tuple[str, Waiter]:
        """A new correlation id, and what will hold its reply or `RequestTimeout` after `deadline`.

        Raises `TooMuchInFlight`, and `ClosedError` once the client was stopped.
        """
        if self._closed:
            raise ClosedError("the client was stopped")
        correlation_id = str(uuid.uuid4())
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._table.add(correlation_id, waiter, deadline)
        self._set_timer()
        return correlation_id, waiter

    def sent(self, correlation_id: str) -> None:
        """The request is stored; from here on only its reply is missing."""
        self._table.sent(correlation_id)

    def forget(self, correlation_id: str) -> None:
        """Nobody waits any more."""
        self._table.remove(correlation_id)

    @serves(PushReplyMessageToClient)
    def received(self, fields: PushReplyMessageToClient, call: Call) -> Reply:
        """Give a reply to who waits; a late one is dropped."""
        message = pushed_reply(fields, bytes(call.frame.body), self._clock.now_ms())
        correlation_id = message.properties.get(CORRELATION_ID, "")
        waiter = self._table.answer(correlation_id)
        if waiter is None:
            log.warning("nobody waits for a reply", correlation_id=correlation_id, replier=message.born_host)
        elif not waiter.done():
            waiter.set_result(message)
        return Reply()

    def close(self) -> None:
        """Nothing is received any more: those who wait hear `ClosedError`."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for waiter in self._table.clear():
            if not waiter.done():
                waiter.set_exception(ClosedError("the client was stopped before the reply came"))

    def _expire(self) -> None:
        self._timer = None
        for expired in self._table.expire(self._clock.monotonic()):
            if not expired.waiter.done():
                what = "was sent" if expired.sent else "was perhaps not sent"
                expired.waiter.set_exception(
                    RequestTimeout(f"request {expired.correlation_id} {what}, and no reply came in time")
                )
        self._set_timer()

    def _set_timer(self) -> None:
        at = self._table.next_deadline()
        if at is None or (self._timer is not None and self._timer_at <= at):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._clock.call_later(max(0.0, at - self._clock.monotonic()), self._expire)
