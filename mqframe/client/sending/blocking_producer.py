"""Producer: `AsyncProducer` for plain threads.

Generated from mqframe.client.sending.producer, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.client.sending.producer import NO_PROPERTIES, AsyncProducer
from mqframe.client.sending.producer_thread import ProducerThread
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.delay.options import delay_properties
from mqframe.core.messages.message import Message, MessageQueue, ReceivedMessage, SendResult
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings


class Producer(ProducerThread):
    """Sends messages to topics.

        with Producer(group="shop", nameserver="127.0.0.1:9876") as producer:
            sent = producer.send(Message("orders", b"...", tag="paid"), sharding_key="customer-7")

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

    May be shared by any number of threads. The calling thread itself writes to and waits at the
    socket; one thread beside polls routes, sends heartbeats and packs what was submitted.
    """

    _section = "producer"

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
        plugins: PluginManager | None = None,
    ) -> None:
        super().__init__(
            AsyncProducer(
                group,
                nameserver=nameserver,
                selector=selector,
                codec=codec,
                send_hooks=send_hooks,
                forbidden_hooks=forbidden_hooks,
                rpc_hooks=rpc_hooks,
                settings=settings,
                client=client,
                net=net,
                plugins=plugins,
            )
        )

    def start(self) -> None:
        """Begin to poll routes and to send heartbeats. Connections are opened when they are needed."""
        super().start()

    def stop(self) -> None:
        """Send what was submitted, leave the group, close the connections."""
        super().stop()

    @property
    def client_id(self) -> str:
        """How brokers know this client. Raises `ClosedError` unless the producer runs."""
        return self._do(lambda: self._client.client_id)

    def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The queues of `topic` that can be written, for `send(queue=…)`. Raises `RouteError`."""
        return run_blocking(self._running().route(topic)).write_queues()

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
        if delay is None and deliver_at is None and (delay_level is None):
            return run_blocking(api.one(message, queue, selector, sharding_key, timeout))
        extra = delay_properties(delay, deliver_at, delay_level)
        return run_blocking(api.delayed(message, extra, queue, selector, sharding_key, timeout))

    def send_batch(
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
        return run_blocking(self._running().batch(messages, queue, selector, sharding_key, timeout))

    def send_encoded(
        self, topic: str, elements: bytes, *, queue: MessageQueue | None = None, timeout: float | None = None
    ) -> SendResult:
        """Send messages of `topic` that are encoded already to one queue in one request; stored all or none.

        `elements`: the messages as `mqframe.core.messages.batch` lays them out, with their unique keys; for
        senders of many. The broker refuses what is not laid out so. Raises `MessageError` when they are none
        or larger than `body_bytes_max`; else as `send`. The result names the first offset.
        """
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
        """Send `message` without waiting for, or hearing, an answer. Options as of `send`.

        Waits for a connection at most `timeout`; never repeated once it may have left.
        """
        later = not (delay is None and deliver_at is None and (delay_level is None))
        extra = delay_properties(delay, deliver_at, delay_level) if later else ""
        run_blocking(self._running().oneway(message, queue, selector, sharding_key, timeout, extra))

    def recall(self, topic: str, recall_handle: str, *, timeout: float | None = None) -> str:
        """Take back a message of `topic` that waits for its time; `recall_handle`: of its `SendResult`.

        Returns its message id; the broker does not look whether it waits. Raises `MessageError` for no legal
        handle, `AnswerError` when the broker refuses (604: its time has come, or the handle is not of this
        topic and broker; 16: recalls are forbidden there), and what `send` raises.
        """
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
        """Send `message` and wait for the reply that a consumer of its topic makes (`mqframe.reply_to`).

        `timeout`: longest time in all, s, by default `reply_timeout_seconds`. Any number of requests may
        wait at once; late replies are dropped. Raises `RequestTimeout` when the request was sent and no reply
        came in time, `RequestFailed` with the error of a consumer that failed at it, what `send` raises when
        it was not sent or may not have been, and `FixError` without `mqframe-plugin-requestreply`.
        """
        return self._call(
            self._client.request,
            message,
            queue=queue,
            selector=selector,
            sharding_key=sharding_key,
            timeout=timeout,
        )
