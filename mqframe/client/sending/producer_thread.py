"""The base of `Producer`: an `AsyncProducer` on a loop in a thread beside, and sends without that loop."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from datetime import datetime, timedelta
from typing import Any, Final

from mqframe.client.connection.identity import wire_hooks
from mqframe.client.connection.loop_thread import LoopThread
from mqframe.client.connection.sync_api import SyncClient
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.blocking_transport import BlockingTransport, run_blocking
from mqframe.client.sending.in_flight_limit import BlockingInFlightLimit
from mqframe.client.sending.prepared_sends import preparing_hooks
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.sending.result_futures import Item, Items, ThreadResults
from mqframe.client.sending.submit import Submitter
from mqframe.client.sending.unsent import Unfinished, forget, is_own, keep, tell
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.delay.options import delay_properties
from mqframe.core.errors import CallTimeout, ClosedError, MqframeError, RouteError
from mqframe.core.messages.message import Message, MessageQueue, SendResult
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock

_DRAINED_AT_ONCE: Final = 512
"""Submitted messages taken over in one turn of the loop, so that answers are read in between."""


class ProducerThread(SyncClient[AsyncProducer]):
    """A producer for plain threads without the methods that send: what `Producer` is generated upon.

    Handing every send to the loop would cost a change of threads each: the calling thread itself writes to
    and waits at the socket. `client`, on its loop, polls routes, sends heartbeats, waits for replies, and
    sends what was submitted here.
    """

    group: str
    """The producer group."""
    _submitter: Submitter  # this and the loop from the start on
    _drain_loop: asyncio.AbstractEventLoop

    def __init__(self, client: AsyncProducer) -> None:
        super().__init__(client, "producer", client.group)
        self.group = client.group
        self._parts = client._parts
        self._settings = client._settings
        self._api: SendApi | None = None
        self._remoting: BlockingClient | None = None
        self._waiting = BlockingInFlightLimit(self._parts.waiting_count())
        self._results = ThreadResults(preparing_hooks(self._parts.send_hooks))
        self._inbox: Any = deque()  # of items, and of what compiled code gathered in between
        self._usual: Callable[[Message], Future[SendResult] | None] = lambda message: None
        self._awake = False
        self._over = False
        self._rest = _Rest(self)

    def start(self) -> None:
        """Begin to poll routes and to send heartbeats. Connections are opened when they are needed."""
        super().start()
        with self._lock:
            if self._api is None and self._loop is not None:
                self._drain_loop = self._loop.loop
                self._api = self._make_api()
                keep(self._rest)

    def submit(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        delay: float | timedelta | None = None,
        deliver_at: datetime | int | None = None,
        delay_level: int | None = None,
    ) -> Future[SendResult]:
        """Hand `message` over to be sent soon, packed with others of its queue; returns its result's future.

        Options as of `send`; what is to be delivered later travels alone. Blocks while `waiting_messages_max`
        or `waiting_bytes_max` is reached. Messages of one queue that one thread submits are stored in that
        order, unless a send fails: the others then go on.
        Raises `MessageError`, `RouteError`, `TooMuchInFlight`; other errors come from the future.
        """
        api = self._running()
        soon = delay is None and deliver_at is None and delay_level is None
        new, room, item = self._results.new, self._waiting, None
        if soon and queue is None and selector is None and sharding_key is None:
            usual = self._usual(message)
            if usual is not None:
                return usual if self._awake and not self._over else self._handed_over(usual)
            item = api.usual(message, room, new)
        if item is None:
            extra = "" if soon else delay_properties(delay, deliver_at, delay_level)
            item = run_blocking(api.submitted(message, extra, queue, selector, sharding_key, room, new))
        self._inbox.append(item)
        return self._handed_over(item.future)

    def flush(self) -> None:
        """Send all that was submitted; returns when it has results or errors."""
        self._call(self._flush_inbox)

    # On the calling thread

    def _make_api(self) -> SendApi:
        clock, instance, parts = SystemClock(), self._client._instance, self._parts
        assert instance is not None
        on_loop = self._client._running().pipeline
        self._submitter = Submitter(on_loop, self._settings, clock, self._waiting, self._results)
        if self._submitter.gatherer is not None:
            self._inbox, self._usual = self._submitter.gatherer.handing_over()
        hooks = wire_hooks(instance.settings, parts.rpc_hooks)
        self._remoting = BlockingClient(clock, self._client._lease.net, rpc_hooks=hooks)

        def find_route(topic: str, seconds: float) -> TopicRoute:
            try:
                return self._thread().call(on_loop.transport.find_route(topic, seconds), seconds + 1)
            except CallTimeout as problem:
                raise RouteError(f"no route to topic {topic}: {problem}; nothing was sent") from None

        def broker_version(address: str, seconds: float) -> int:
            return self._thread().call(on_loop.transport.broker_version(address, seconds), seconds + 1)

        transport = BlockingTransport(self._remoting, instance.routes, find_route, broker_version)
        pipeline = parts.pipeline(
            transport, clock, random.SystemRandom(), instance.ip, instance.settings, instance.client_id
        )
        return SendApi(parts, pipeline, BlockingInFlightLimit(parts.in_flight_count()))

    def _running(self) -> SendApi:
        self._process.check()
        if self._api is None:
            state = "stopped" if self._stopped else "not started; use it in a with block, or call start()"
            raise ClosedError(f"the producer was {state}")
        return self._api

    def _thread(self) -> LoopThread:
        self._running()
        return super()._thread()

    def _end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def flush_first() -> None:
            await self._flush_inbox()
            await self._submitter.stop()
            await how()

        self._process.check()
        self._stopped = True
        api, self._api = self._api, None
        self._waiting.close()
        if api is not None:
            api.close()
        super()._end(flush_first)

    def _close(self) -> None:
        forget(self._rest)
        if self._remoting is not None:
            self._remoting.close()
        self._over = True  # before the inbox is looked at: whoever puts into it later looks himself
        self._refuse_rest()

    def _handed_over(self, future: Future[SendResult]) -> Future[SendResult]:
        if not self._awake:
            self._awake = True
            try:
                self._drain_loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop ended: the producer was stopped by another thread
                self._refuse_rest()
        if self._over:  # nobody looks into the inbox any more
            self._refuse_rest()
        return future

    def _refuse_rest(self) -> None:
        for items in _rest_of(self._inbox):
            self._results.fail(items, ClosedError("the producer was stopped; the message was not sent"))

    # On the loop's thread

    async def _flush_inbox(self) -> None:
        while self._inbox:
            self._take(len(self._inbox))
            await self._submitter.flush()
        await self._submitter.flush()

    def _drain(self) -> None:
        # Waking a thread costs more than packing ten messages: while some come, this looks again by itself.
        if not self._inbox:
            self._awake = False
            if not self._inbox or self._awake:
                return  # whoever appends from here on wakes this thread
            self._awake = True
        self._take(_DRAINED_AT_ONCE)
        delay = 0.0 if self._inbox else self._settings.linger_seconds
        self._drain_loop.call_later(delay, self._drain)

    def _take(self, count: int) -> None:
        inbox, submitter = self._inbox, self._submitter
        for _ in range(min(count, len(inbox))):
            item = inbox.popleft()
            try:
                submitter.add(item)
            except MqframeError as problem:
                items = _items_of(item)
                self._waiting.release(items.body_bytes(), len(items))
                self._results.fail(items, problem)


def _items_of(handed: Any) -> Items:
    return Items([handed] if isinstance(handed, Item) else handed)


def _rest_of(inbox: Any) -> Iterator[Items]:
    while True:
        try:
            handed = inbox.popleft()
        except IndexError:  # empty; perhaps another thread was faster
            return
        yield _items_of(handed)


class _Rest(Unfinished):
    """What `producer` was given by `submit` and has no result yet."""

    def __init__(self, producer: ProducerThread) -> None:
        self._producer = producer
        self._failed_before = 0

    def begin_rest(self) -> tuple[Future[None], float] | None:
        producer = self._producer
        loop = producer._loop
        if loop is None or not is_own(producer._process):
            return None
        self._failed_before = producer._results.failed
        return loop.submit(producer._flush_inbox()), producer._settings.exit_seconds

    def tell_rest(self) -> None:
        producer = self._producer
        left = producer._waiting.count.count
        tell(producer.group, producer._results.failed - self._failed_before + left)
