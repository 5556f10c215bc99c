"""The producer for asyncio programs."""

from __future__ import annotations

import asyncio
import random
import weakref
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from mqframe.client.connection.identity import nameserver_text, with_nameserver
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import AsyncClient, InstanceLease, phase_of
from mqframe.client.sending.api import SendApi
from mqframe.client.sending.hook_port import AttachedHooks
from mqframe.client.sending.in_flight_limit import AsyncInFlightLimit
from mqframe.client.sending.pipeline import Randomness
from mqframe.client.sending.prepared_sends import preparing_hooks
from mqframe.client.sending.producer_parts import ProducerParts, ProducerStrategies
from mqframe.client.sending.result_futures import LoopResults
from mqframe.client.sending.submit import Submitter
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.cluster.name_servers import parse_addresses
from mqframe.core.delay.options import delay_properties
from mqframe.core.errors import ClosedError, MqframeError
from mqframe.core.messages.message import Message, MessageQueue, ReceivedMessage, SendResult
from mqframe.hooks.client_parts import load_part
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings

NO_PROPERTIES: Mapping[str, str] = {}


class AsyncProducer(AsyncClient):
    """Sends messages to topics.

        async with AsyncProducer(group="shop", nameserver="127.0.0.1:9876") as producer:
            sent = await producer.send(Message("orders", b"...", tag="paid"), sharding_key="customer-7")

    `group`: name of the producer group. `nameserver`: "host:port;host:port", by default what the variable
    NAMESRV_ADDR holds. `selector`: the queue selector for sharding keys, a name, class or object; by default
    "hash", looked up when the first sharding key comes. `codec`: what `message` encodes values by, a name,
    class or object; by default "json". `send_hooks`, `forbidden_hooks`, `rpc_hooks`: names,
    classes or objects.

    A send that was cancelled, timed out or lost its connection may or may not have been stored; a send to a
    given queue, by selector or by sharding key is never moved, nor repeated once it may be stored. What is
    certain not to be stored is tried again within its time, while a broker is busy or restarts. After a fork
    the child must make its own.

    Raises `PluginError` for a strategy that is not installed, `SettingError`, `MessageError` (group name).

    Only here: `instance`, a client instance shared with others, which their owner starts and stops, and whose
    RPC hooks count; `clock` and `randomness`, for tests.
    """

    _section = "producer"
    group: str
    """The producer group."""
    _submitter: Submitter  # these from the start on
    _attached: AttachedHooks

    def __init__(
        self,
        group: str,
        *,
        nameserver: str = "",
        selector: object = None,
        codec: object = None,
        send_hooks: Sequence[object] = (),
        forbidden_hooks: Sequence[object] = (),
        rpc_hooks: Sequence[object] = (),
        settings: ProducerSettings | None = None,
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        instance: ClientInstance | None = None,
        clock: LoopClock | None = None,
        randomness: Randomness | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        self._parts = ProducerParts(
            group,
            settings,
            ProducerStrategies(
                selector=selector,
                codec=codec,
                send_hooks=send_hooks,
                forbidden_hooks=forbidden_hooks,
                rpc_hooks=rpc_hooks,
            ),
            plugins,
        )
        self.group = group
        self._settings = self._parts.settings
        self._clock: LoopClock = clock or SystemClock()
        self._randomness = randomness or random.Random()
        settings_of_client = with_nameserver(client, nameserver)
        self._lease = InstanceLease(instance, settings_of_client, self._clock, net, self._parts.rpc_hooks)
        self._instance: ClientInstance | None = None
        self._api: SendApi | None = None
        self._requests: Any = None
        self._stopped = False
        self._in_flight = AsyncInFlightLimit(self._parts.in_flight_count(), self._clock)
        self._waiting = AsyncInFlightLimit(self._parts.waiting_count(), self._clock)
        if instance is None:
            parse_addresses(nameserver_text(settings_of_client))  # a wrong address shows at once

    async def start(self) -> None:
        """Begin to poll routes and to send heartbeats. Connections are opened when they are needed."""
        if self._stopped:
            raise ClosedError("the producer was stopped; make a new one")
        if self._api is not None:
            return
        instance = self._instance = await self._lease.open()
        settings = self._settings
        instance.register_producer(self.group)
        pipeline = self._parts.loop_pipeline(instance, self._clock, self._randomness)
        results = LoopResults(preparing_hooks(self._parts.send_hooks))
        self._submitter = Submitter(pipeline, settings, self._clock, self._waiting, results)
        api = SendApi(self._parts, pipeline, self._in_flight)
        # Whatever still has something to send holds the submitter: what it leaves when it goes is lost.
        self._ending = weakref.finalize(self._submitter, self._submitter.cut_off.tell)
        self._attached = AttachedHooks(self._parts.send_hooks, instance, self._clock, self.group, "PRODUCE")
        self._api = api
        await self._attached.start()

    async def stop(self) -> None:
        """Send what was submitted, leave the group, close the connections."""
        if self._stopped:
            return
        if self._instance is not None:
            self._instance.remoting.check_loop()
        self._stopped = True
        if self._api is not None:
            await self._submitter.stop()
            self._ending.detach()
            await self._attached.stop()
        self._in_flight.close()
        self._waiting.close()
        self._api = None
        if self._instance is not None:
            if self._lease.is_shared:  # one of our own leaves all groups when it stops
                await self._instance.unregister_producer(self.group)
            await self._lease.close(self._instance)

    @property
    def client_id(self) -> str:
        """How brokers know this client. Raises `ClosedError` unless the producer runs."""
        self._running()
        assert self._instance is not None
        return self._instance.client_id

    async def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The queues of `topic` that can be written, for `send(queue=…)`. Raises `RouteError`."""
        return (await self._running().route(topic)).write_queues()

    def message(
        self,
        topic: str,
        value: object,
        *,
        codec: object = None,
        tag: str | None = None,
        keys: Sequence[str] = (),
        properties: Mapping[str, str] = NO_PROPERTIES,
    ) -> Message:
        """A message to send, whose body is `value`, encoded by the producer's codec, or by `codec`.

            producer.send(producer.message("orders", order, tag="paid"))

        Its properties name the content type, and the schema where the codec has one. May be called before
        `start`. Raises `EncodeError` for a value that the codec has no body for, `PluginError`.
        """
        return self._parts.message(topic, value, codec, tag, keys, properties)

    async def send(
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
        """Send `message` and wait until its broker has stored it.

        `queue`: the queue to send to; `selector`, `sharding_key`: have a selector choose it; messages of one
        sharding key go to one queue. `timeout`: longest time in all, s, by default `send_timeout_seconds`.
        One of `delay` (seconds or timedelta), `deliver_at` (datetime with time zone, or ms since 1970) and
        `delay_level` (1 is the first) has the message delivered later; of the first two the result has a
        `recall_handle`, with which it can be taken back.

        A result other than SEND_OK means stored, but not yet flushed or copied as the broker is configured.
        Raises `MessageError`, `RouteError`, `ConnectError`, `TooMuchInFlight` (not stored), `AnswerError`
        (the broker refused), `Forbidden` (a hook did), `CallTimeout`, `ConnectionLost`, `BadAnswer` (perhaps
        stored). `maybe_stored` of the error says which of the two: true when any of the tries may have been.
        """
        api = self._api or self._running()
        if delay is None and deliver_at is None and delay_level is None:
            return await api.one(message, queue, selector, sharding_key, timeout)
        extra = delay_properties(delay, deliver_at, delay_level)
        return await api.delayed(message, extra, queue, selector, sharding_key, timeout)

    async def send_batch(
        self,
        messages: Sequence[Message],
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
    ) -> SendResult:
        """Send `messages`, all of one topic, to one queue in one request; stored all or none.

        Raises `MessageError` when they do not agree, or are larger together than `body_bytes_max`; else as
        `send`. The result names the first offset; the ids are joined by commas.
        """
        return await self._running().batch(messages, queue, selector, sharding_key, timeout)

    async def send_encoded(
        self, topic: str, elements: bytes, *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> SendResult:
        """Send messages of `topic` that are encoded already to one queue in one request; stored all or none.

        `elements`: the messages as `mqframe.core.messages.batch` lays them out, with their unique keys; for
        senders of many. The broker refuses what is not laid out so. Raises `MessageError` when they are none
        or larger than `body_bytes_max`; else as `send`. The result names the first offset.
        """
        return await self._running().encoded(topic, elements, queue, timeout)

    async def send_oneway(
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
        """Send `message` without waiting for, or hearing, an answer. Options as of `send`.

        Waits for a connection at most `timeout`; never repeated once it may have left.
        """
        later = not (delay is None and deliver_at is None and delay_level is None)
        extra = delay_properties(delay, deliver_at, delay_level) if later else ""
        await self._running().oneway(message, queue, selector, sharding_key, timeout, extra)

    async def recall(self, topic: str, recall_handle: str, *, timeout: float | None = None) -> str:
        """Take back a message of `topic` that waits for its time; `recall_handle`: of its `SendResult`.

        Returns its message id; the broker does not look whether it waits. Raises `MessageError` for no legal
        handle, `AnswerError` when the broker refuses (604: its time has come, or the handle is not of this
        topic and broker; 16: recalls are forbidden there), and what `send` raises.
        """
        return await self._running().recall(topic, recall_handle, timeout)

    async def request(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        timeout: float | None = None,
    ) -> ReceivedMessage:
        """Send `message` and wait for the reply that a consumer of its topic makes (`mqframe.reply_to`).

        `timeout`: longest time in all, s, by default `reply_timeout_seconds`. Any number of requests may
        wait at once; late replies are dropped. Raises `RequestTimeout` when the request was sent and no reply
        came in time, `RequestFailed` with the error of a consumer that failed at it, what `send` raises when
        it was not sent or may not have been, and `FixError` without `mqframe-plugin-requestreply`.
        """
        api = self._running()
        if self._requests is None:
            self._requests = load_part("requests")(self._instance, api, self._clock, self._settings)
        reply: ReceivedMessage = await self._requests.request(message, queue, selector, sharding_key, timeout)
        return reply

    async def submit(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        selector: object = None,
        sharding_key: object = None,
        delay: float | timedelta | None = None,
        deliver_at: datetime | int | None = None,
        delay_level: int | None = None,
    ) -> asyncio.Future[SendResult]:
        """Hand `message` over to be sent soon, packed with others of its queue; returns its result's future.

        Options as of `send`; what is to be delivered later travels alone. Waits while `waiting_messages_max`
        or `waiting_bytes_max` is reached. Messages of one queue are stored in the order of their `submit`,
        unless a send fails: the others then go on.
        Raises `MessageError`, `RouteError`, `TooMuchInFlight`; other errors come from the future.
        """
        api, submitter = self._api or self._running(), self._submitter
        soon = delay is None and deliver_at is None and delay_level is None
        room, new, item = self._waiting, asyncio.get_running_loop().create_future, None
        if soon and queue is None and selector is None and sharding_key is None:
            if submitter.gatherer is not None:
                usual: asyncio.Future[SendResult] | None = submitter.gatherer.take(message)
                if usual is not None:
                    return usual
            item = api.usual(message, room, new)
        if item is None:
            extra = "" if soon else delay_properties(delay, deliver_at, delay_level)
            item = await api.submitted(message, extra, queue, selector, sharding_key, room, new)
        try:
            leaves = submitter.add(item)
        except MqframeError as problem:
            self._waiting.release(len(item.message.body))
            item.future.cancel()
            submitter.results.fail([item], problem)
            raise
        if leaves:
            await asyncio.sleep(0)  # a full batch leaves now, also when the caller never waits
        future: asyncio.Future[SendResult] = item.future
        return future

    async def flush(self) -> None:
        """Send all that was submitted; returns when it has results or errors."""
        self._running()
        await self._submitter.flush()

    def _phase(self) -> str:
        return phase_of(running=self._api is not None, stopped=self._stopped)

    def _running(self) -> SendApi:
        if self._api is None:
            state = "stopped" if self._stopped else "not started; use it in a with block, or call start()"
            raise ClosedError(f"the producer was {state}")
        return self._api
