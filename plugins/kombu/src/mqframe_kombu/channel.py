"""Channels: what kombu asks for by AMQP's names, done with topics, groups and the directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import uuid4

from amqp.protocol import queue_declare_ok_t
from kombu.exceptions import ChannelError
from kombu.transport import virtual
from kombu.transport.base import to_rabbitmq_queue_arguments

from mqframe.core.errors import CallTimeout, ClosedError, FixError, MqframeError
from mqframe.log import get_logger
from mqframe_kombu import envelope
from mqframe_kombu.directory import Binding, Exchange
from mqframe_kombu.feed import Feed
from mqframe_kombu.held import Held, HeldOutcome, Source
from mqframe_kombu.link import END_SECONDS
from mqframe_kombu.qos import QoS
from mqframe_kombu.queue_arguments import OF_BINDINGS, OF_CONSUMERS, OF_EXCHANGES, record_of, refuse
from mqframe_kombu.routing import TYPES

if TYPE_CHECKING:
    from mqframe_kombu.transport import Transport

log = get_logger("kombu")


class Channel(virtual.Channel):  # type: ignore[misc]
    """A channel of `connection`. Methods have the names and arguments of `kombu.transport.virtual.Channel`.

    They raise what mqframe's clients raise, and `ChannelError` as AMQP does: 404 for what is not there,
    406 for an exchange of another type.
    """

    supports_fanout = True
    do_restore = False
    body_encoding = None
    connection: Transport | None
    closed: bool

    def __init__(self, connection: Transport, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self.body_encoding = None
        self._link = connection.link
        self._feed: Feed = self._link.call(self._make_feed())
        self._qos = QoS(self._link, self._feed)
        self._callbacks: dict[str, tuple[str, bool, Callable[[Any], Any]]] = {}
        self._by_queue: dict[str, list[str]] = {}
        self._queue_sources: dict[str, list[Source]] = {}

    async def _make_feed(self) -> Feed:
        return Feed(self._link, self._link.options, self._hand_out)

    # Exchanges

    def exchange_declare(
        self,
        exchange: str | None = None,
        type: str = "direct",
        durable: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
        nowait: bool = False,
        passive: bool = False,
    ) -> None:
        """Declare an exchange for all processes."""
        kind = type or "direct"
        name = exchange or f"amq.{kind}"
        if passive:
            known = self._link.call(self._link.directory.exchange(name))
            if known is None and not name.startswith("amq."):
                self._raise(404, f"NOT_FOUND - no exchange {name!r}", "Exchange.declare")
            return
        if kind not in TYPES:
            raise FixError(f"exchange {name!r} cannot be of the type {kind!r}; use {', '.join(TYPES)}")
        refuse(f"the exchange {name!r}", arguments, OF_EXCHANGES)
        declared = Exchange(kind, bool(durable), bool(auto_delete))
        known = self._link.call(self._link.directory.declare_exchange(name, declared))
        if known.type != kind:
            self._raise(
                406,
                f"PRECONDITION_FAILED - exchange {name!r} is of the type {known.type!r}",
                "Exchange.declare",
            )

    def exchange_delete(self, exchange: str, if_unused: bool = False, nowait: bool = False) -> None:
        """Delete an exchange and its bindings; queues stay."""
        directory = self._link.directory
        if if_unused and self._link.call(directory.bindings(exchange)):
            return
        self._link.call(directory.delete_exchange(exchange))

    def get_exchanges(self) -> list[str]:
        """The names of all exchanges with bindings."""
        return sorted({name for name, _ in self._link.call(self._link.directory.all_bindings())})

    def get_table(self, exchange: str) -> list[tuple[str, str | None, str]]:
        """The bindings of `exchange`: routing key, nothing, queue."""
        found = self._link.call(self._link.directory.bindings(exchange))
        return [(binding.routing_key, None, binding.queue) for binding in found]

    def list_bindings(self) -> list[tuple[str, str, str]]:
        """All bindings: queue, exchange, routing key."""
        found = self._link.call(self._link.directory.all_bindings())
        return [(binding.queue, exchange, binding.routing_key) for exchange, binding in found]

    def queue_bind(
        self,
        queue: str,
        exchange: str | None = None,
        routing_key: str = "",
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Bind a queue to an exchange for all processes."""
        refuse(f"a binding of the queue {queue!r}", arguments, OF_BINDINGS)
        name = exchange or "amq.direct"
        if name.startswith("amq."):
            self.exchange_declare(name, name.removeprefix("amq."), durable=True)
        elif self._link.call(self._link.directory.exchange(name)) is None:
            self._raise(404, f"NOT_FOUND - no exchange {name!r}", "Queue.bind")
        self._link.call(self._link.directory.bind(name, Binding(queue, routing_key or "")))

    def queue_unbind(
        self,
        queue: str,
        exchange: str | None = None,
        routing_key: str = "",
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Undo a binding."""
        binding = Binding(queue, routing_key or "")
        self._link.call(self._link.directory.unbind(exchange or "amq.direct", binding))

    # Queues

    def queue_declare(
        self,
        queue: str | None = None,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
        nowait: bool = False,
        **kwargs: Any,
    ) -> queue_declare_ok_t:
        """Make a queue, or (`passive`) look whether it is there; its name and the number of its messages.

        Raises `FixError` for arguments that cannot be heeded (`queue_arguments`).
        """
        name = queue or f"amq.gen-{uuid4()}"
        queues = self._link.queues
        if passive:
            if not self._link.call(queues.exists(name)):
                self._raise(404, f"NOT_FOUND - no queue {name!r}", "Queue.declare")
            return queue_declare_ok_t(name, self._size(name), 0)
        record = record_of(
            name,
            arguments or {},
            durable=bool(durable),
            exclusive=bool(exclusive),
            auto_delete=bool(auto_delete),
        )
        if (
            record.message_ttl is not None
            and record.dead_letter_exchange is not None
            and name not in queues.known
        ):
            log.warning(
                "what is too old becomes a dead letter when somebody consumes from the queue", queue=name
            )
        made = self._link.call(queues.declare(name, record))
        return queue_declare_ok_t(name, 0 if made or nowait else self._size(name), 0)

    def prepare_queue_arguments(self, arguments: Any, **kwargs: Any) -> Any:
        """Arguments of `kombu.Queue` by RabbitMQ's names: `expires` becomes `x-expires`."""
        return to_rabbitmq_queue_arguments(arguments or {}, **kwargs)

    def queue_delete(self, queue: str, if_unused: bool = False, if_empty: bool = False, **kwargs: Any) -> int:
        """Delete a queue with its messages; how many there were. One that is not there: nothing happens."""
        if not self._link.call(self._link.queues.exists(queue)):
            return 0
        size = self._size(queue)
        if (if_empty and size) or (if_unused and not self._link.call(self._link.queues.is_unused(queue))):
            return 0
        self._link.call(self._link.queues.delete(queue))
        return size

    def _size(self, queue: str) -> int:
        return self._link.call(self._link.queues.size(queue))

    def _purge(self, queue: str) -> int:
        return self._link.call(self._link.queues.purge(queue))

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        return self._link.call(self._link.queues.exists(queue))

    # Publishing

    def basic_publish(self, message: dict[str, Any], exchange: str, routing_key: str, **kwargs: Any) -> None:
        """Send a message to the queues that it is for. One that is for none is dropped, as by AMQP."""
        sent_to = message["properties"].setdefault("delivery_info", {})
        sent_to.update(exchange=exchange or "", routing_key=routing_key)
        if exchange:
            targets = self._link.call(self._link.route(exchange, routing_key or ""))
        else:
            targets = [routing_key]
        reached = False
        for queue in targets:
            reached |= self._link.publish(queue, message)
        if not reached and self.deadletter_queue:
            self.queue_declare(self.deadletter_queue, durable=True)
            self._link.publish(self.deadletter_queue, message)
        elif not reached:
            log.debug("message is for no queue", exchange=exchange, routing_key=routing_key)

    # Consuming

    def basic_consume(
        self,
        queue: str,
        no_ack: bool,
        callback: Callable[[Any], Any],
        consumer_tag: str,
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> str:
        """Have the messages of a queue delivered. Raises `ChannelError` (404) when it is not there."""
        refuse(f"a consumer of the queue {queue!r}", arguments, OF_CONSUMERS)
        if queue not in self._queue_sources:
            if not self._has_queue(queue):
                self._raise(404, f"NOT_FOUND - no queue {queue!r}", "Basic.consume")
            self._queue_sources[queue] = sources = self._link.call(self._link.use(queue))
            self._link.soon(self._feed.add, *sources)
        self._callbacks[consumer_tag] = (queue, bool(no_ack), callback)
        self._by_queue.setdefault(queue, []).append(consumer_tag)
        self._consumers.add(consumer_tag)
        self._tag_to_queue[consumer_tag] = queue
        return consumer_tag

    def basic_cancel(self, consumer_tag: str) -> None:
        """Have nothing more delivered. An auto-delete queue that nobody consumes from any more is deleted."""
        if consumer_tag not in self._callbacks:
            return
        queue, _, _ = self._callbacks.pop(consumer_tag)
        self._consumers.discard(consumer_tag)
        self._tag_to_queue.pop(consumer_tag, None)
        self._by_queue[queue].remove(consumer_tag)
        if self._by_queue[queue] or not self._link.alive:
            return
        del self._by_queue[queue]
        try:
            self._link.call(self._leave(queue, self._queue_sources.pop(queue)), END_SECONDS)
        except (MqframeError, OSError) as problem:
            log.warning("not cancelled in good order", queue=queue, reason=str(problem))

    async def _leave(self, queue: str, sources: list[Source]) -> None:
        await self._feed.remove(sources)
        self._link.unuse(queue)
        record = self._link.queues.known.get(queue)
        if record is not None and record.auto_delete and await self._link.queues.is_unused(queue):
            await self._link.queues.delete(queue)

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> Any:
        """A message that is there already, or `None`."""
        held = self._link.call(self._get_one(queue))
        return None if held is None else self._made(held, no_ack)

    async def _get_one(self, queue: str) -> Held | None:
        found = await self._link.get_for_certain(queue)
        if found is None:
            return None
        held = Held(*found)
        held.delivered = True
        self._feed.adopt(held)
        return held

    def basic_ack(self, delivery_tag: int, multiple: bool = False) -> None:
        """A message is done."""
        self.qos.settle(delivery_tag, HeldOutcome.ACK, multiple=multiple)

    def basic_reject(self, delivery_tag: int, requeue: bool = False) -> None:
        """A message is not done: others may have it (`requeue`), or it becomes a dead letter."""
        self.qos.settle(delivery_tag, HeldOutcome.REQUEUE if requeue else HeldOutcome.DEAD_LETTER)

    def basic_recover(self, requeue: bool = False) -> None:
        """Give back what is out."""
        if not requeue:
            raise NotImplementedError("messages can be recovered with requeue=True only")
        self.qos.restore_unacked()

    def basic_qos(self, prefetch_size: int = 0, prefetch_count: int = 0, apply_global: bool = False) -> None:
        """At most `prefetch_count` messages of this channel are out; 0: no limit."""
        self.qos.prefetch_count = prefetch_count

    @property
    def qos(self) -> QoS:
        """What is out."""
        return self._qos

    def _hand_out(self, held: Held) -> None:
        self._link.inbox.put(lambda: self._deliver(held))

    def _deliver(self, held: Held) -> None:
        """In the thread that drains events: have the callback of a consumer called."""
        self._link.soon(self._feed.delivered)
        tags = self._by_queue.get(held.source.queue)
        if not tags or self.closed:
            self._link.soon(self._feed.settle, held, HeldOutcome.REQUEUE)
            return
        held.delivered = True
        tags.append(tags.pop(0))  # consumers of one queue take turns
        _, no_ack, callback = self._callbacks[tags[-1]]
        message = self._made(held, no_ack)
        if message is not None:
            callback(message)

    def _made(self, held: Held, no_ack: bool) -> Any:
        tag = self.qos.next_tag()
        try:
            payload = envelope.to_payload(held.popped, held.source.queue, tag)
            message = self.Message(payload, channel=self)
        except (MqframeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            log.error("message cannot be read; made a dead letter", reason=str(problem), **held.named())
            self._link.soon(self._feed.settle, held, HeldOutcome.DEAD_LETTER)
            return None
        if no_ack:
            self._link.soon(self._feed.settle, held, HeldOutcome.ACK)
        else:
            self.qos.append(held, tag)
        return message

    def close(self) -> None:
        """Cancel all consumers, give back what is out, finish what is being acknowledged."""
        if self.closed:
            return
        connection = self.connection
        for tag in list(self._callbacks):
            self.basic_cancel(tag)
        self.closed = True
        if self._link.open:
            try:
                self._link.call(self._feed.close(), END_SECONDS)
            except (ClosedError, CallTimeout) as problem:
                log.warning("channel not closed in good order", reason=str(problem))
        if connection is not None:
            connection.close_channel(self)

    def _raise(self, code: int, text: str, method: str) -> NoReturn:
        classes = {"Exchange.declare": (40, 10), "Queue.bind": (50, 20), "Queue.declare": (50, 10)}
        raise ChannelError(text, classes.get(method, (60, 20)), method, code)
