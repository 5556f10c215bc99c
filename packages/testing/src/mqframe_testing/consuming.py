"""Scenes for tests of consumers: a client over a `ScriptedBroker`, listeners that collect, made-up messages.

async def test_a_consumer():
    async with ClientScene({"orders": 1}) as scene:
        options = {"instance": scene.instance, "clock": scene.clock, "allocate": AllQueues()}
        consumer = AsyncPushConsumer("g", **options)
        listener = CollectingListener(ConsumeResult.RECONSUME_LATER, ConsumeResult.SUCCESS)
        consumer.subscribe("orders", "*", listener)
        await consumer.start()
        scene.broker.put("orders", 0, b"hello")
        await scene.pass_time(1.0)
        assert listener.bodies == [b"hello"]
        await scene.finish(consumer.stop())
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.listener import ListenerContext
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.hooks.interfaces import AllocationStrategy, OffsetStore, ReadFrom
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import HOST, ScriptedBroker

T = TypeVar("T")
RECORD_BYTES: Final = 100
"""The stored size of each message that `received` makes."""


class AllQueues(AllocationStrategy):
    """Gives every member all queues, so that a test need not wait for other members."""

    wire_name = "ALL"

    def allocate(
        self, group: str, client_id: str, queues: Sequence[MessageQueue], clients: Sequence[str]
    ) -> list[MessageQueue]:
        """All of `queues`."""
        return list(queues)


class MemoryOffsets(OffsetStore):
    """An offset store in memory: `remembered`, and `stored`, which is what was persisted."""

    def __init__(self, stored: Mapping[MessageQueue, int] | None = None) -> None:
        self.remembered: dict[MessageQueue, int] = {}
        self.stored = dict(stored or {})

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Remember `offset`."""
        if not (increase_only and self.remembered.get(queue, 0) > offset):
            self.remembered[queue] = offset

    async def read(self, queue: MessageQueue, source: ReadFrom) -> int | None:
        """What is known of `queue`."""
        found = None if source is ReadFrom.STORE else self.remembered.get(queue)
        return self.stored.get(queue) if found is None and source is not ReadFrom.MEMORY else found

    async def persist(self, queues: Collection[MessageQueue]) -> None:
        """Store what is remembered of `queues`."""
        self.stored |= {queue: offset for queue, offset in self.remembered.items() if queue in queues}

    def forget(self, queue: MessageQueue) -> None:
        """Drop `queue` from memory."""
        self.remembered.pop(queue, None)

    def snapshot(self, topic: str) -> dict[MessageQueue, int]:
        """What is in memory for `topic`."""
        return {queue: offset for queue, offset in self.remembered.items() if queue.topic == topic}


class CollectingListener:
    """An `async def` listener that notes its calls and returns `answers` in turn, for ever the last one.

    An answer that is an exception is raised; a function is called with messages and context, and awaited.
    `calls`: (queue id, offset, body) of the messages of each call; `attempts`: the retries so far of the
    first message of each; `most`: calls at the same time for one queue, at most.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers) or [ConsumeResult.SUCCESS]
        self.calls: list[list[tuple[int, int, bytes]]] = []
        self.attempts: list[int] = []
        self.most = 0
        self._running: dict[MessageQueue, int] = {}

    async def __call__(self, messages: Sequence[ReceivedMessage], context: ListenerContext) -> Any:
        """What listeners are called with."""
        queue = context.queue
        running = self._running[queue] = self._running.get(queue, 0) + 1
        self.most = max(self.most, running)
        self.calls.append([(m.queue_id, m.queue_offset, m.body) for m in messages])
        self.attempts.append(messages[0].reconsume_times)
        try:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, BaseException):
                raise answer
            return await answer(messages, context) if callable(answer) else answer
        finally:
            self._running[queue] -= 1

    def offsets(self, queue_id: int | None = None) -> list[int]:
        """The offsets of all messages in the order of calls; `queue_id`: of that queue only."""
        return [
            offset
            for call in self.calls
            for number, offset, _ in call
            if queue_id is None or number == queue_id
        ]

    @property
    def places(self) -> list[list[tuple[int, int]]]:
        """(queue id, offset) of the messages of each call."""
        return [[(number, offset) for number, offset, _ in call] for call in self.calls]

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of all messages in the order of calls."""
        return [body for call in self.calls for _, _, body in call]


class ClientScene:
    """A client instance over a `ScriptedBroker` with `topics` (queues by name), on a manual clock.

    `topics`: by default "orders" with one queue. The instance runs within `async with`.
    """

    def __init__(self, topics: Mapping[str, int] | None = None) -> None:
        self.clock = ManualClock()
        self.broker = ScriptedBroker(self.clock, dict(topics or {"orders": 1}))
        settings = ClientSettings(nameserver=self.broker.nameserver, client_ip="10.1.1.1", instance_name="m1")
        self.instance = ClientInstance(settings, self.clock, self.broker)  # type: ignore[arg-type]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start the client instance."""
        await self.instance.start()

    async def stop(self) -> None:
        """Stop the client instance."""
        await self.finish(self.instance.stop())

    async def pass_time(self, seconds: float = 0.0) -> None:
        """Let `seconds` pass, and everything happen that is due by then."""
        await self.clock.aadvance(seconds)

    async def finish(self, work: Awaitable[T], step: float = 0.1) -> T:
        """The result of `work`; while it waits, time passes by `step` seconds again and again."""
        return await self.clock.finish(work, step)

    def stored(self, group: str, queue_id: int = 0, topic: str = "orders") -> int | None:
        """The offset that the broker holds for `group`."""
        return self.broker.offsets.get((group, self.broker.queue(topic, queue_id)))


S = TypeVar("S", bound=ClientScene)


def play_in(scene: Callable[[], S], story: Callable[[S], Awaitable[None]]) -> None:
    """Run `story` in a scene, made on the loop, whose client instance runs meanwhile."""

    async def whole() -> None:
        async with scene() as made:
            await story(made)

    asyncio.run(whole())


def play(story: Callable[[ClientScene], Awaitable[None]], topics: Mapping[str, int] | None = None) -> None:
    """Run `story` in a `ClientScene` with `topics`; by default one topic "orders" with one queue."""
    play_in(lambda: ClientScene(topics), story)


def received(
    offset: int, body: bytes = b"x", *, topic: str = "orders", queue_id: int = 0, **properties: str
) -> ReceivedMessage:
    """A message as a pull brings it, from the queue of "broker-a"; `RECORD_BYTES` long."""
    text, size = encode_properties(properties).encode(), RECORD_BYTES
    return ReceivedMessage(
        topic, queue_id, offset, offset * 1000, size, 0, 0, HOST, HOST, 0, 0, 0, 0, 0, body, text, "broker-a"
    )
