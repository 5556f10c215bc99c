"""Asking brokers by name: how long they are waited for, and what becomes of answers that nobody wants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mqframe_pop.requests import ChangeInvisibleTime, PopMessage
from mqframe_pop.rules.popped import read_pop
from mqframe_pop.rules.receipt_handle import ReceiptHandle

from mqframe.client.connection.instance import ClientInstance
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    AnswerRetry,
    CallTimeout,
    ConnectError,
    ConnectionLost,
    MqframeError,
    TooMuchInFlight,
    answer_error,
)
from mqframe.core.messages import properties as p
from mqframe.core.requests.fields import Request
from mqframe.core.requests.messages import EndTransaction, PullMessage, SendMessageV2
from mqframe.core.sending.queue_choice import FaultLatency
from mqframe.core.wire.frame import Body, Frame
from mqframe.log import get_logger
from mqframe_grpc.outside.masters import Masters
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.renewal import GIVEN_BACK_MS

log = get_logger("grpc")

T = TypeVar("T")

ANSWER_SECONDS: Final = 10.0
"""What the answer to a pop or a pull may take beyond the time that the broker was allowed to wait."""
_LEFT_OPEN: Final = 0
"""The end of a transaction that is none; brokers of Apache do not answer it."""
_DONE: Final = Frame(ResponseCode.SUCCESS)


class Asking:
    """Asks masters over the connections of `instance`. `faults`: is told how sends went.

    `doubt`: called when a broker cannot be reached, for another one may have taken its place.
    """

    def __init__(
        self,
        instance: ClientInstance,
        masters: Masters,
        faults: FaultLatency,
        doubt: Callable[[], object],
    ) -> None:
        self._instance = instance
        self._clock = instance.clock
        self._seconds = instance.settings.request_timeout_seconds
        self._masters = masters
        self._faults = faults
        self._doubt = doubt
        self._old: dict[str, None] = {}
        self._given_up: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """Care for nothing any more."""
        for task in self._given_up:
            task.cancel()

    def is_old(self, broker: str) -> None:
        """A broker does not know what all know since 5.0."""
        if broker not in self._old:
            self._old[broker] = None
            log.warning(
                "broker is older than 5.0: it takes messages of gRPC clients, but has no pops for consumers",
                broker=broker,
            )

    async def ask(self, broker: str, request: Request, body: Body = b"") -> Frame:
        """The answer of the master called `broker`, whatever its code.

        A broker that restarts is waited for, except with messages, which may go to others. Cancelled, a pop
        takes no messages. Raises `ConnectionLost`, and `Rejected`: PROXY_TIMEOUT when there is no answer in
        time, INTERNAL_SERVER_ERROR when there is no connection, NOT_IMPLEMENTED for what brokers before 5.0
        do not do.
        """
        if isinstance(request, PopMessage):
            return await self._told(broker, self._pop(broker, request))
        if isinstance(request, SendMessageV2):
            return await self._told(broker, self._send(broker, request, body))
        if isinstance(request, EndTransaction) and request.commit_or_rollback == _LEFT_OPEN:
            return await self._told(broker, self._oneway(broker, request))
        if isinstance(request, PullMessage):
            seconds = request.suspend_timeout_millis / 1000 + ANSWER_SECONDS
            return await self._told(broker, self.call(broker, request, body, seconds))
        return await self._told(broker, self._patiently(broker, request, body))

    async def call(
        self, broker: str, request: Request, body: Body = b"", seconds: float | None = None
    ) -> Frame:
        """The answer of the master called `broker`, whatever its code. Raises what a call raises."""
        seconds = self._seconds if seconds is None else seconds
        return await self._instance.remoting.invoke(self._address(broker), request, body, timeout=seconds)

    async def _told(self, broker: str, asking: Awaitable[T]) -> T:
        """What `asking` returns; its problems in the words of the door."""
        try:
            return await asking
        except CallTimeout:
            raise Rejected(
                m.Code.PROXY_TIMEOUT,
                f"broker {broker} did not answer in time; what was asked may have been done",
            ) from None
        except ConnectionLost:
            self._doubt()
            raise
        except TooMuchInFlight as problem:
            raise Rejected(m.Code.TOO_MANY_REQUESTS, str(problem)) from None
        except Rejected:
            raise
        except MqframeError as problem:
            if isinstance(problem, ConnectError):
                self._doubt()
            raise Rejected(m.Code.INTERNAL_SERVER_ERROR, f"broker {broker}: {problem}") from None

    def _address(self, broker: str) -> str:
        address = self._masters.address(broker)
        if address is None:
            raise Rejected(m.Code.BAD_REQUEST, f"broker {broker[:200]} is not known to name servers")
        return address

    async def _oneway(self, broker: str, request: Request) -> Frame:
        await self._instance.remoting.oneway(self._address(broker), request, timeout=self._seconds)
        return _DONE

    async def _patiently(self, broker: str, request: Request, body: Body) -> Frame:
        """As `call`; a broker that restarts is waited for."""

        async def once(seconds: float) -> Frame:
            try:
                return await self.call(broker, request, body, seconds)
            except ConnectError:
                self._doubt()  # the next try may be at another address
                raise

        return await self._instance.patience.over(once, self._seconds)

    async def _send(self, broker: str, request: SendMessageV2, body: Body) -> Frame:
        if broker in self._old and f"{p.TIMER_DELIVER_MS}\x01" in (request.properties or ""):
            raise Rejected(
                m.Code.NOT_IMPLEMENTED,
                f"broker {broker} is older than 5.0, and would deliver the message at once",
            )
        began = self._clock.monotonic()
        failed, reachable = True, False
        try:
            answer = await self.call(broker, request, body)
            reachable = True
            failed = isinstance(answer_error(answer.code, answer.remark, broker), AnswerRetry)
            return answer
        except asyncio.CancelledError:
            failed, reachable = False, True  # how slow it was counts
            raise
        finally:
            ms = (self._clock.monotonic() - began) * 1000
            self._faults.update(broker, ms, failed=failed, reachable=reachable)

    # Pops

    async def _pop(self, broker: str, request: PopMessage) -> Frame:
        """The answer to a pop. Whoever gives it up gets nothing: what comes is let go of."""
        seconds = request.poll_time / 1000 + ANSWER_SECONDS
        asking = asyncio.ensure_future(self.call(broker, request, b"", seconds))
        try:
            answer = await asyncio.shield(asking)
        except asyncio.CancelledError:
            task = asyncio.ensure_future(self._let_go(broker, request, asking))
            self._given_up.add(task)
            task.add_done_callback(self._given_up.discard)
            raise
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self.is_old(broker)
            raise Rejected(
                m.Code.NOT_IMPLEMENTED,
                f"broker {broker} is older than 5.0 and has no pops, which gRPC's consumers need",
            )
        return answer

    async def _let_go(self, broker: str, request: PopMessage, asking: asyncio.Future[Frame]) -> None:
        """Make visible what a broker hands out that could not be told that nobody waits any more."""
        try:
            answer = await asking
            address, until = self._address(broker), self._clock.monotonic() + request.invisible_time / 1000
            found = read_pop(answer, broker, request.topic, address, until)
        except MqframeError as problem:
            log.debug("pop that was given up has failed", broker=broker, reason=str(problem))
            return
        for message in found.messages:
            handle = ReceiptHandle.parse(message.properties[p.POP_CHECK_POINT])
            change = ChangeInvisibleTime(
                consumer_group=request.consumer_group,
                topic=handle.real_topic(request.topic, request.consumer_group),
                queue_id=handle.queue_id,
                extra_info=handle.text,
                offset=handle.offset,
                invisible_time=GIVEN_BACK_MS,
                bname=broker,
            )
            try:
                await self._patiently(broker, change, b"")
            except MqframeError as problem:
                log.debug("message comes back by itself", broker=broker, reason=str(problem))
