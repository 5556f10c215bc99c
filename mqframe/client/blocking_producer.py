"""The producer for plain threads."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from types import TracebackType
from typing import Final

from mqframe.client.blocking_port import BlockingPort, run_blocking
from mqframe.client.hook_port import AttachedHooks
from mqframe.client.identity import SameProcess, nameserver_text, with_nameserver
from mqframe.client.instance import ClientInstance
from mqframe.client.loop_thread import LoopThread
from mqframe.client.producer_parts import ProducerParts
from mqframe.client.requests import Requests
from mqframe.client.result_futures import Item, ThreadResults
from mqframe.client.room import AsyncRoom, BlockingRoom
from mqframe.client.send_port import AsyncPort
from mqframe.client.sends import Sends
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.client.submit import Submitter
from mqframe.core.budget import Budget
from mqframe.core.delay_options import delay_properties
from mqframe.core.errors import CallTimeout, ClosedError, MqframeError, RouteError
from mqframe.core.message import Message, MessageQueue, ReceivedMessage, SendResult
from mqframe.core.message_checks import check_message
from mqframe.core.message_text import element_size
from mqframe.core.name_servers import parse_addresses
from mqframe.core.route import TopicRoute
from mqframe.hooks.manager import PluginManager
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings

_DRAINED_AT_ONCE: Final = 512
"""Submitted messages taken over in one turn of the loop, so that answers are read in between."""


class Producer:
    """Sends messages; may be shared by any number of threads.

        with Producer(group="shop", nameserver="127.0.0.1:9876") as producer:
            sent = producer.send(Message("orders", b"...", tag="paid"), sharding_key="customer-7")

    Arguments and behaviour are those of `AsyncProducer`. The calling thread itself writes to and waits at the
    socket; one thread beside polls routes, sends heartbeats and packs what was submitted.
    """

    def __init__(
        self,
        group: str,
        *,
        nameserver: str = "",
        selector: object = None,
        send_hooks: Sequence[object] = (),
        forbidden_hooks: Sequence[object] = (),
        rpc_hooks: Sequence[object] = (),
        settings: ProducerSettings | None = None,
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        self._parts = ProducerParts(
            group,
            settings,
            selector=selector,
            send_hooks=send_hooks,
            forbidden_hooks=forbidden_hooks,
            rpc_hooks=rpc_hooks,
            plugins=plugins,
        )
        self.group = group
        self.settings = self._parts.settings
        self._client = with_nameserver(client, nameserver)
        parse_addresses(nameserver_text(self._client))  # a wrong address shows at once
        self._net = net or NetSettings()
        self._lifecycle = threading.Lock()
        self._process = SameProcess("producer")
        self._stopped = False
        self._thread: LoopThread | None = None
        self._remoting: BlockingClient | None = None
        self._instance: ClientInstance | None = None
        self._attached: AttachedHooks | None = None
        self._port: AsyncPort | None = None
        self._sends: Sends | None = None
        self._submitter: Submitter | None = None
        self._requests: Requests | None = None
        limits = self.settings
        self._waiting = BlockingRoom(Budget(limits.waiting_messages_max, limits.waiting_bytes_max))
        self._results = ThreadResults()
        self._inbox: deque[Item] = deque()
        self._awake = False

    def start(self) -> None:
        """Begin to poll routes and to send heartbeats. Connections are opened when they are needed."""
        with self._lifecycle:
            self._process.check()
            if self._stopped:
                raise ClosedError("the producer was stopped; make a new one")
            if self._sends is not None:
                return
            self._thread = LoopThread(f"mqframe-producer-{self.group}")
            clock, limits = SystemClock(), self.settings
            try:
                instance = self._thread.call(self._start_beside(clock))
            except BaseException:  # re-raised: nothing is left running
                self._thread.stop()
                raise
            self._remoting = BlockingClient(clock, self._net, rpc_hooks=self._parts.rpc_hooks)
            port = BlockingPort(self._remoting, instance.routes.known, self._find_route)
            vip = self._client.vip_channel
            sender = self._parts.sender(port, clock, random.SystemRandom(), instance.ip, vip=vip)
            room = BlockingRoom(Budget(limits.in_flight_messages_max, limits.in_flight_bytes_max))
            self._sends = Sends(self._parts, sender, room)

    def stop(self) -> None:
        """Send what was submitted, leave the group, close the connections."""
        with self._lifecycle:
            self._process.check()
            if self._stopped or self._thread is None:
                self._stopped = True
                return
            self._stopped = True
            self._sends = None
            self._thread.call(self._stop_beside())
            self._thread.stop()
            if self._remoting is not None:
                self._remoting.close()
            self._refuse_rest()

    def __enter__(self) -> Producer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def client_id(self) -> str:
        """How brokers know this client. Raises `ClosedError` before the start."""
        self._running()
        assert self._instance is not None
        return self._instance.client_id

    def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The queues of `topic` that can be written, for `send(queue=…)`. Raises `RouteError`."""
        return run_blocking(self._running().route(topic)).write_queues()

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
        delay: float | timedelta | None = None,
        deliver_at: datetime | int | None = None,
        delay_level: int | None = None,
    ) -> SendResult:
        """Send `message` and wait until its broker has stored it. See `AsyncProducer.send`."""
        sends = self._running()
        if delay is None and deliver_at is None and delay_level is None:
            return run_blocking(sends.one(message, queue, selector, sharding_key, timeout))
        wish = delay_properties(delay, deliver_at, delay_level)
        return run_blocking(sends.later(message, wish, queue, selector, sharding_key, timeout))

    def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Send `messages`, all of one topic, in one request. See `AsyncProducer.send_batch`."""
        return run_blocking(self._running().batch(messages, queue, selector, sharding_key, timeout))

    def send_encoded(
        self,
        topic: str,
        elements: bytes,
        *,
        queue: MessageQueue | None = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Send messages that are encoded already in one request. See `AsyncProducer.send_encoded`."""
        return run_blocking(self._running().encoded(topic, elements, queue, timeout))

    def send_oneway(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
        delay: float | timedelta | None = None,
        deliver_at: datetime | int | None = None,
        delay_level: int | None = None,
    ) -> None:
        """Send `message` without waiting for, or hearing, an answer. Never repeated. Options as of `send`."""
        later = not (delay is None and deliver_at is None and delay_level is None)
        wish = delay_properties(delay, deliver_at, delay_level) if later else ""
        run_blocking(self._running().oneway(message, queue, selector, sharding_key, timeout, wish))

    def recall(self, topic: str, recall_handle: str, *, timeout: float | None = None) -> str:
        """Take back a message of `topic` that waits for its time. See `AsyncProducer.recall`."""
        return run_blocking(self._running().recall(topic, recall_handle, timeout))

    def request(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Send `message` and wait for its reply, for which any number of threads may wait at once.

        See `AsyncProducer.request`.
        """
        self._running()
        assert self._thread is not None
        assert self._requests is not None
        return self._thread.call(self._requests.request(message, queue, selector, sharding_key, timeout))

    def submit(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
    ) -> Future[SendResult]:
        """Hand `message` over to be sent soon, packed with others of its queue; gives its result's future.

        Blocks while `waiting_messages_max` or `waiting_bytes_max` is reached. Messages of one queue that one
        thread submits are stored in that order, unless a send fails: the others then go on.
        Raises `MessageError`, `RouteError`, `TooMuchInFlight`; other errors come from the future.
        """
        sends = self._running()
        check_message(message, self.settings.body_bytes_max)
        size = element_size(message)
        route = sends.sender.port.known_route(message.topic)
        if route is None or not route.write_queues():
            route = run_blocking(sends.route(message.topic))
        fixed = None
        if queue is not None or sharding_key is not None or selector is not None:
            fixed = self._parts.fixed_queue(route, message, queue, selector, sharding_key)
        body_bytes = len(message.body)
        if not self._waiting.take(body_bytes):
            run_blocking(self._waiting.wait(body_bytes, self.settings.submit_wait_seconds))
        future = self._results.new()
        self._inbox.append(Item(message, future, size, fixed))
        if not self._awake:
            self._wake()
        return future

    def flush(self) -> None:
        """Send all that was submitted; returns when it has results or errors."""
        self._running()
        assert self._thread is not None
        self._thread.call(self._flush_beside())

    # On the calling thread

    def _running(self) -> Sends:
        self._process.check()
        if self._sends is None:
            state = "stopped" if self._stopped else "not started; use it in a with block, or call start()"
            raise ClosedError(f"the producer was {state}")
        return self._sends

    def _find_route(self, topic: str, seconds: float) -> TopicRoute:
        assert self._thread is not None
        assert self._port is not None
        try:
            return self._thread.call(self._port.find_route(topic, seconds), seconds + 1)
        except CallTimeout as problem:
            raise RouteError(f"no route to topic {topic}: {problem}; nothing was sent") from None

    def _wake(self) -> None:
        self._awake = True
        try:
            assert self._thread is not None
            self._thread.loop.call_soon_threadsafe(self._drain)
        except RuntimeError:  # the loop ended: the producer was stopped by another thread
            self._refuse_rest()

    def _refuse_rest(self) -> None:
        while self._inbox:
            problem = ClosedError("the producer was stopped; the message was not sent")
            self._results.fail((self._inbox.popleft(),), problem)

    # On the loop's thread

    async def _start_beside(self, clock: SystemClock) -> ClientInstance:
        instance = ClientInstance.connect(self._client, clock, self._net, rpc_hooks=self._parts.rpc_hooks)
        settings = self.settings
        self._port = AsyncPort(instance, clock, settings.default_topic, settings.default_topic_queues)
        sender = self._parts.sender(
            self._port, clock, random.SystemRandom(), instance.ip, vip=self._client.vip_channel
        )
        self._submitter = Submitter(
            sender, self._parts.submitted, settings, clock, self._waiting, self._results
        )
        room = AsyncRoom(Budget(settings.in_flight_messages_max, settings.in_flight_bytes_max), clock)
        self._requests = Requests(instance, Sends(self._parts, sender, room), clock, settings)
        self._instance = instance
        await instance.start()
        instance.register_producer(self.group)
        self._attached = AttachedHooks(self._parts.send_hooks, instance, clock, self.group, "PRODUCE")
        return instance

    async def _stop_beside(self) -> None:
        await self._flush_beside()
        assert self._submitter is not None
        assert self._instance is not None
        await self._submitter.stop()
        if self._attached is not None:
            await self._attached.stop()
        await self._instance.stop()

    async def _flush_beside(self) -> None:
        assert self._submitter is not None
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
        assert self._thread is not None
        delay = 0.0 if self._inbox else self.settings.linger_seconds
        self._thread.loop.call_later(delay, self._drain)

    def _take(self, count: int) -> None:
        inbox, submitter = self._inbox, self._submitter
        assert submitter is not None
        for _ in range(count):
            if not inbox:
                break
            item = inbox.popleft()
            try:
                submitter.add(item)
            except MqframeError as problem:
                self._waiting.give(len(item.message.body))
                self._results.fail((item,), problem)
