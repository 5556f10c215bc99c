"""A cluster whose time the test moves, with clients that live in that time, in the test's own loop.

    async def test_a_delayed_message_comes_in_time():
        async with ClusterScene(topics={"orders": 2}) as scene:
            producer = await scene.open(AsyncProducer("shop", nameserver=scene.nameserver, clock=scene.clock))
            await producer.send(Message("orders", b"o-1"), delay=60)
            await scene.pass_time(59.0)
            assert scene.bodies("orders") == []
            await scene.pass_time(2.0)
            assert scene.bodies("orders") == [b"o-1"]

Where `AsyncStage` waits in real time for applications whose clients have clocks of their own, here everything
goes by one `ManualClock`, so that time-outs, heartbeats and rebalances come when the test says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final, Protocol, Self, TypeVar, Unpack

from mqframe.client.sending.producer import AsyncProducer
from mqframe.core.messages.message import Message, MessageQueue, ReceivedMessage, SendResult
from mqframe.core.storage.record import decode_records
from mqframe.store.message_store import MessageStore
from mqframe_testing.cluster import AsyncCluster, ServerOptions
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.protocol_client import ProtocolClient
from mqframe_testing.thread_pools import at_rest, watched

T = TypeVar("T")
STEP_SECONDS: Final = 0.1
UNTIL_SECONDS: Final = 60.0
_SETTLE_ROUNDS: Final = 3
_LOOP_TURNS: Final = 200
_REAL_SECONDS: Final = 0.001
_READ_MESSAGES: Final = 1000
_READ_BYTES: Final = 1 << 30


class Startable(Protocol):
    """What `ClusterScene.open` starts and stops: any client of mqframe with asyncio."""

    async def start(self) -> None:
        """Start it."""

    async def stop(self) -> None:
        """Stop it."""


S = TypeVar("S", bound=Startable)


class ClusterScene:
    """A name server and `brokers` brokers with `topics` (queues a broker, by name), on `clock`.

    `options`: those of `AsyncCluster`. `clock`: a new one by default. Clients that were opened, and those
    that talk the protocol, are closed with the scene, the last one first.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        topics: Mapping[str, int] | None = None,
        clock: ManualClock | None = None,
        **options: Unpack[ServerOptions],
    ) -> None:
        self.clock = clock or ManualClock()
        self.cluster = AsyncCluster(brokers, clock=self.clock, **options)
        self.opened: list[Startable] = []
        self.clients: list[ProtocolClient] = []
        self._topics = dict(topics or {})
        self._client: ProtocolClient | None = None
        self._producer: AsyncProducer | None = None
        self._stack = ExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start the cluster and make its topics."""
        self._stack.enter_context(watched())
        await self.cluster.start()
        for name, queues in self._topics.items():
            await self.cluster.create_topic(name, queues)

    async def stop(self) -> None:
        """Close all clients, then the cluster."""
        try:
            for client in reversed(list(self.opened)):
                await self.close(client)
            for each in list(self.clients):
                await self.disconnect(each)
        finally:
            await self.cluster.stop()
            self._stack.close()

    @property
    def nameserver(self) -> str:
        """Address of the name server, as clients want it."""
        return self.cluster.nameserver

    @property
    def store(self) -> MessageStore:
        """The store of the first broker."""
        return self.cluster.broker.store

    # Clients

    async def open(self, client: S) -> S:
        """Start `client`, without time passing; it is stopped with the scene."""
        await client.start()
        self.opened.append(client)
        return client

    async def close(self, client: Startable) -> None:
        """Stop a client that was opened."""
        self.opened.remove(client)
        await self.finish(client.stop())

    @property
    def client(self) -> ProtocolClient:
        """A client that talks the protocol to the first broker, the same at each use."""
        if self._client is None:
            self._client = self.connect()
        return self._client

    def connect(self, broker: int = 0) -> ProtocolClient:
        """One more client that talks the protocol, with a connection of its own."""
        client = ProtocolClient(self.cluster.brokers[broker].address, self.clock)
        self.clients.append(client)
        return client

    async def disconnect(self, client: ProtocolClient) -> None:
        """End the connection of a client that talks the protocol."""
        self.clients.remove(client)
        if client is self._client:
            self._client = None
        await client.close()

    async def send(
        self, topic: str, *bodies: bytes, queue_id: int | None = 0, broker: str = "broker-a", tag: str = ""
    ) -> list[SendResult]:
        """Send messages by a producer of the scene to one queue, or to any with `queue_id=None`."""
        if self._producer is None:
            producer = AsyncProducer("scene", nameserver=self.nameserver, clock=self.clock)
            self._producer = await self.open(producer)
        queue = None if queue_id is None else MessageQueue(topic, broker, queue_id)
        return [
            await self.finish(self._producer.send(Message(topic, body, tag=tag or None), queue=queue))
            for body in bodies
        ]

    # Time

    async def pass_time(self, seconds: float = 0.0) -> None:
        """Let `seconds` pass, and everything happen that is due by then and needs no thread."""
        await self.clock.aadvance(seconds)

    async def settle(self) -> None:
        """Let everything under way come to its end, threads too, without moving the clock."""
        for _ in range(_SETTLE_ROUNDS):
            await self.clock.aadvance(0)
            await at_rest()

    async def settle_loop(self) -> None:
        """As `settle`, for what waits for no thread."""
        for _ in range(_LOOP_TURNS):
            await asyncio.sleep(0)

    async def finish(self, work: Awaitable[T], step: float = STEP_SECONDS) -> T:
        """The result of `work`; while it waits, time passes by `step` seconds again and again."""
        return await self.clock.finish(work, step)

    async def until(
        self, condition: Callable[[], object], seconds: float = UNTIL_SECONDS, step: float = STEP_SECONDS
    ) -> None:
        """Let time pass until `condition()` holds, or raise `AssertionError` after `seconds`."""
        end = self.clock.monotonic() + seconds
        while not condition():
            assert self.clock.monotonic() < end, f"it did not happen within {seconds:g} s"
            await self.clock.aadvance(step)
            await asyncio.sleep(_REAL_SECONDS)  # for sockets and threads

    # What is stored

    def stored(self, topic: str, queue_id: int | None = None, *, broker: int = 0) -> list[ReceivedMessage]:
        """All messages of a queue of `topic`, or of all its queues one after the other, by offset."""
        queues = range(self._queues(topic, broker)) if queue_id is None else (queue_id,)
        return [message for each in queues for message in self._read(topic, each, broker)]

    def bodies(self, topic: str, queue_id: int | None = None, *, broker: int = 0) -> list[bytes]:
        """The bodies of `stored`."""
        return [message.body for message in self.stored(topic, queue_id, broker=broker)]

    def _queues(self, topic: str, broker: int) -> int:
        config = self.cluster.brokers[broker].service_port.topics.find(topic)
        return 0 if config is None else config.read_queue_nums

    def _read(self, topic: str, queue_id: int, broker: int) -> Iterator[ReceivedMessage]:
        store = self.cluster.brokers[broker].store
        offset, end = store.queues.min_offset(topic, queue_id), store.queues.max_offset(topic, queue_id)
        while offset < end:
            found = store.reads.get(topic, queue_id, offset, _READ_MESSAGES, bytes_max=_READ_BYTES)
            for part in found.parts:
                yield from decode_records(part)
            offset = max(found.next_offset, offset + 1)
