"""What one connection of kombu has: clients of mqframe, and a loop in a thread that serves them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

from mqframe import (
    AsyncAdmin,
    AsyncSimpleConsumer,
    ClientSettings,
    Message,
    NetSettings,
    PoppedMessage,
    Producer,
    ProducerSettings,
)
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import (
    AnswerError,
    CallTimeout,
    ClosedError,
    ConnectError,
    MqframeError,
    RetryError,
    RouteError,
)
from mqframe.log import get_logger
from mqframe_kombu import envelope
from mqframe_kombu.burial import Burial
from mqframe_kombu.directory import LEASE_MS, Directory
from mqframe_kombu.feed import PAUSE_SECONDS
from mqframe_kombu.held import Held, Source
from mqframe_kombu.inbox import Inbox
from mqframe_kombu.options import TransportOptions
from mqframe_kombu.queues import Queues
from mqframe_kombu.routing import matching
from mqframe_kombu.times import deliver_ms, due_ms, lifetime_ms, since_ms, waits_again

log = get_logger("kombu")
T = TypeVar("T")

GROUP: Final = "kombu"
"""The producer group."""
NO_TOPIC: Final = "kombu%_none"
"""What new topics would be made after: as nobody has it, sends make no topics."""
UPKEEP_SECONDS: Final = LEASE_MS / 4000
END_SECONDS: Final = 15.0
"""Longest wait for what is given back at the end."""


def now_ms() -> int:
    """The time, ms since 1970."""
    return time.time_ns() // 1_000_000


class Link:
    """Clients of the cluster behind `nameserver`. Any thread may call what is no coroutine.

    `hooks`, `net`: as of every client. In a process that forked after `start` it is not alive.
    """

    def __init__(
        self,
        nameserver: str,
        options: TransportOptions,
        *,
        virtual_host: str = "",
        hooks: Sequence[object] = (),
        net: NetSettings | None = None,
    ) -> None:
        self.nameserver = nameserver
        self.options = options
        self.inbox = Inbox()
        # Celery is to hear of an outage in `reconnect_after`: what waits for brokers is `trouble`, not calls.
        self._client = ClientSettings(
            nameserver=nameserver, request_timeout_seconds=options.request_timeout, patience_seconds=0
        )
        self._hooks = list(hooks)
        self._net = net
        self._process = os.getpid()
        self._admin = AsyncAdmin(client=self._client, net=net, rpc_hooks=self._hooks)
        self.directory = Directory(self._admin, virtual_host)
        self.queues = Queues(self._admin, self.directory, options, virtual_host, now_ms)
        self._burial = Burial(self._admin, self.queues, options, self.route, self.publish)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mqframe-kombu", daemon=True)
        self._producer: Producer | None = None
        self._producing = threading.Lock()
        self._getters: dict[str, AsyncSimpleConsumer] = {}
        self._used: set[str] = set()
        self._upkeep: asyncio.Task[None] | None = None
        self._trouble_since: float | None = None
        self._failed = False
        self._closed = False

    # Life

    def start(self) -> None:
        """Begin. Raises what a name server that does not answer raises, `RouteError` without brokers."""
        self._thread.start()
        try:
            self.call(self._admin.start())
            if not self.call(self._admin.cluster.info()).broker_addr_table:
                raise RouteError(f"no broker is registered with {self.nameserver}; start one")
        except BaseException as problem:
            self.close()
            if isinstance(problem, MqframeError) and not isinstance(problem, RetryError | AnswerError):
                raise
            if isinstance(problem, MqframeError):
                raise ConnectError(f"no connection to {self.nameserver}: {problem}") from problem
            raise

    @property
    def alive(self) -> bool:
        """Whether it can be used: started, not closed, not failed, and in the process that started it."""
        return self.open and not self._failed

    @property
    def open(self) -> bool:
        """Whether there is something to close in this process."""
        return not self._closed and os.getpid() == self._process

    def call(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """The result of `work`, run on the loop. Raises what it raises; `ClosedError` after the end."""
        if not self.open or not self._thread.is_alive():
            work.close()
            raise ClosedError("the connection to mqframe was closed, or opened before a fork; open another")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise CallTimeout(f"not done within {seconds} s") from None

    def soon(self, call: Any, *args: object) -> None:
        """Have the loop call `call`. After the end nothing happens."""
        if self.open:
            self._loop.call_soon_threadsafe(call, *args)

    def close(self) -> None:
        """Stop all clients. What channels hold was to be given back before. Twice does no harm."""
        if self._closed:
            return
        if os.getpid() != self._process:
            self._closed = True  # the threads, and the sockets in their hands, are the parent's
            return
        try:
            self.call(self._stop_clients(), END_SECONDS)
        except MqframeError as problem:
            log.warning("not closed in good order", reason=str(problem))
        self._closed = True
        if self._producer is not None:
            self._producer.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(END_SECONDS)
            if not self._thread.is_alive():
                self._loop.close()
        self.inbox.close()

    async def _stop_clients(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
        for queue, record in list(self.queues.known.items()):
            if record.exclusive:
                await self.queues.delete(queue)
        await asyncio.gather(*[each.stop() for each in self._getters.values()], return_exceptions=True)
        await self._admin.stop()
        # Nobody is to wait for what nobody will do.
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    # Sending

    def publish(self, queue: str, payload: dict[str, Any]) -> bool:
        """Send `payload` to `queue`, later when it has a time. Returns whether there is such a queue.

        Raises what `Producer.send` raises.
        """
        headers = payload.get("headers")
        due = due_ms(headers) if self.options.delays else None
        topic = self.queues.topic(queue, self._step(queue, payload))
        for again in (False, True):
            try:
                self._send(topic, payload, due)
                return True
            except RouteError:
                pass
            except AnswerError as refused:
                if refused.code != ResponseCode.TOPIC_NOT_EXIST:
                    raise
            if again or not self.call(self._make_again(queue)):
                return False
        return False

    def _send(self, topic: str, payload: dict[str, Any], due: int | None) -> None:
        now = now_ms()
        at = deliver_ms(due, now, round(self.options.delay_max * 1000))
        message = envelope.to_message(topic, payload, due if at is not None and at != due else None)
        self.producer.send(message, deliver_at=at)

    def _step(self, queue: str, payload: dict[str, Any]) -> int:
        try:
            priority = int(payload["properties"].get("priority") or 0)
        except (TypeError, ValueError):
            return 0
        if priority <= 0:
            return 0
        record = self.queues.known.get(queue) or self.call(self.queues.record(queue))
        priority = min(priority, record.max_priority if record is not None else 0)
        return max(step for step in self.options.priority_steps if step <= priority)

    async def _make_again(self, queue: str) -> bool:
        """Make a queue whose topic is gone: one that was declared here, and is not temporary."""
        if await self.queues.exists(queue):
            raise ConnectError(f"no broker takes messages for the queue {queue!r} now")
        record = self.queues.known.get(queue)
        if record is None or record.temporary or record.auto_delete:
            return False
        log.warning("topic of a queue was gone; made again", queue=queue)
        await self.queues.declare(queue, record)
        return True

    @property
    def producer(self) -> Producer:
        """Started when it is first needed."""
        with self._producing:
            if self._producer is None:
                if not self.alive:
                    raise ClosedError("the connection to mqframe was closed; open another")
                self._producer = Producer(
                    GROUP,
                    client=self._client,
                    net=self._net,
                    rpc_hooks=self._hooks,
                    settings=ProducerSettings(default_topic=NO_TOPIC),
                )
                self._producer.start()
            return self._producer

    # Receiving: on the loop

    async def join(self, topic: str) -> AsyncSimpleConsumer:
        """A new member of the group of `topic`, started, for what AMQP needs no consumer for.

        It asks for single messages, or settles what one that has left was given.
        """
        consumer = await self._member(topic)
        self.queues.aside[consumer] = consumer.client_id
        return consumer

    async def _member(self, topic: str) -> AsyncSimpleConsumer:
        consumer = AsyncSimpleConsumer(
            topic, consume_from="first", client=self._client, net=self._net, rpc_hooks=self._hooks
        )
        consumer.subscribe(topic)
        await consumer.start()
        return consumer

    async def use(self, queue: str) -> list[Source]:
        """What is to be consumed for `queue`, and the note that somebody does."""
        record = await self.queues.record(queue)
        await self.queues.mark_used(queue)
        self._used.add(queue)
        if self._upkeep is None:
            self._upkeep = asyncio.create_task(self._keep_queues())
        topics = self.queues.topics(queue, record)
        return [Source(queue, step, await self._member(topic)) for step, topic in topics.items()]

    def unuse(self, queue: str) -> None:
        """Nobody consumes from `queue` here any more."""
        self._used.discard(queue)

    async def get(self, queue: str, wait: float = 0.0) -> tuple[Source, PoppedMessage] | None:
        """One message of `queue`, of the highest priority there is; `None` when none came in `wait` s."""
        for step, topic in self.queues.topics(queue, await self.queues.record(queue)).items():
            if topic not in self._getters:
                self._getters[topic] = await self.join(topic)
            source = Source(queue, step, self._getters[topic])
            while popped := await source.consumer.receive(1, self.options.visibility_timeout, wait):
                if await self.is_for_now(source, popped[0]):
                    return source, popped[0]
                await source.consumer.ack(popped[0])
        return None

    async def get_for_certain(self, queue: str) -> tuple[Source, PoppedMessage] | None:
        """As `get`, and waits for what went back and is not there again. `None`: nothing is there."""
        found = await self.get(queue)
        while found is None and await self.queues.until_back(queue):
            found = await self.get(queue)
        return found

    def gave_back(self, held: Held) -> None:
        """A broker took it back, and brings it to its queue a moment later."""
        self.queues.gave_back(held.source.queue, held.source.step, held.popped)

    async def is_for_now(self, source: Source, popped: PoppedMessage) -> bool:
        """Whether `popped` is to be handed out.

        So is not what is too old, what came back too often, nor what is early and was sent again.
        """
        now = now_ms()
        record = self.queues.known.get(source.queue)
        lifetime = lifetime_ms(envelope.expiration_of(popped), record.message_ttl if record else None)
        if (
            lifetime is not None
            and now - since_ms(popped.born_timestamp, envelope.headers_of(popped)) > lifetime
        ):
            await self._burial.drop(source, popped)
            return False
        limit = record.delivery_limit if record else None
        if limit is not None and popped.reconsume_times > limit:
            await self._burial.bury(source, popped, "delivery_limit")
            return False
        due = int(popped.properties.get(envelope.DUE) or 0)
        longest = round(self.options.delay_max * 1000)
        if due <= now or not waits_again(due, popped.born_timestamp, now, longest):
            return True
        at = deliver_ms(due, now, longest)
        kept = {name: value for name, value in popped.properties.items() if name in envelope.NAMES}
        again = Message(self.queues.topic(source.queue, source.step), popped.body, keys=popped.keys,
                        properties=kept)  # fmt: skip
        await asyncio.to_thread(lambda: self.producer.send(again, deliver_at=at))
        return False

    async def bury(self, held: Held) -> None:
        """Make a dead letter of it, as its queue was declared, or in the group's dead-letter topic."""
        await self._burial.bury(held.source, held.popped)

    async def route(self, exchange: str, routing_key: str) -> list[str]:
        """The queues that get what is sent to `exchange` with `routing_key`."""
        kind = await self.directory.type_of(exchange)
        return matching(kind, await self.directory.bindings(exchange), routing_key)

    # Trouble

    async def trouble(self, problem: MqframeError, queue: str) -> None:
        """Wait a little, and make a topic that is gone again; after a while, or where no wait helps, fail."""
        if not isinstance(problem, RetryError):
            self.fail(problem)
        now = time.monotonic()
        self._trouble_since = now if self._trouble_since is None else self._trouble_since
        if now - self._trouble_since >= self.options.reconnect_after:
            self.fail(problem)
        if isinstance(problem, RouteError):
            try:
                await self._make_again(queue)
            except MqframeError as other:
                log.warning("queue cannot be looked at", queue=queue, reason=str(other))
        await asyncio.sleep(PAUSE_SECONDS)

    def all_well(self) -> None:
        """Brokers do what is asked."""
        self._trouble_since = None

    def fail(self, problem: MqframeError) -> None:
        """Have `problem` raised by whoever waits for events; the connection is to be opened anew."""
        self._failed = True
        self.inbox.fail(problem)

    async def _keep_queues(self) -> None:
        """Say of temporary queues in use that they are, and delete those whose users are gone."""
        while True:
            try:
                for queue in list(self._used):
                    await self.queues.mark_used(queue)
                for queue in await self.queues.delete_over():
                    log.info("deleted a temporary queue whose users are gone", queue=queue)
            except MqframeError as problem:
                log.warning("temporary queues could not be looked at", reason=str(problem))
            await asyncio.sleep(UPKEEP_SECONDS)
