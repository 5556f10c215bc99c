"""A test bench for applications: a broker whose time the test moves, and that says when nothing more happens.

    with Stage() as stage:
        stage.create_topic("orders")
        consumer = make_consumer(stage.nameserver)  # the application's own
        with consumer:
            send_order(stage.nameserver)
            stage.settle()  # the consumer has had it, and failed
            stage.advance(10)  # ten seconds later it comes again

Clients live in real time; what brokers wait for is theirs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

from mqframe import AsyncAdmin
from mqframe.client.connection.loop_thread import LoopThread
from mqframe.core.cluster.client_registry import ConsumerGroup
from mqframe.core.consuming.running_info import ConsumerRunningInfo, ProcessQueueInfo
from mqframe.core.errors import ClosedError, MqframeError, RetryError
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import RETRY_PREFIX
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock

T = TypeVar("T")

CALLED: Final = "CONSUME_PASSIVELY"
"""What brokers call consumers whose listeners are called; others take messages when they like."""
FROM_LAST: Final = "CONSUME_FROM_LAST_OFFSET"
CALM_LOOKS: Final = 3
LOOK_SECONDS: Final = 0.005
SETTLE_SECONDS: Final = 30.0
_A_YEAR: Final = 365 * 86400
_READ: Final = 256


class NotSettled(RetryError):
    """Something was still under way when the time for it was over. The message says what."""


class AsyncStage:
    """A name server and a broker in the running loop, on a clock that stands still until `advance`.

    `clock`: by default one that shows the present; `broker`, `store`: fields of `BrokerSettings` and
    `StoreSettings` that are to be different; `sections`: further ones, as `AsyncCluster` takes them;
    `plugins`: where the broker's plugins come from.

    Clients are the application's own. What brokers wait for (retries, delays, invisible times, checks of
    transactions, schedules) waits for `advance`; what clients wait for by themselves, such as the pause of an
    ordered queue after a failure, passes in real time. Silent clients stay members, whatever time it is.
    How long a broker holds a request for messages is its time, too: give simple consumers an `await_duration`
    of 0, so that they are answered at once.
    """

    def __init__(
        self,
        *,
        clock: ManualClock | None = None,
        broker: Mapping[str, Any] | None = None,
        store: Mapping[str, Any] | None = None,
        sections: Sequence[Any] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        self.clock = clock or ManualClock(time.time_ns() // 1_000_000)
        # Clients send heartbeats by their own clocks, hours of the broker's may lie between two.
        fields = {"client_silent_ms": _A_YEAR * 1000, **(broker or {})}
        net = NetSettings(idle_seconds=_A_YEAR)
        self.cluster = AsyncCluster(
            1,
            clock=self.clock,
            broker=fields,
            store=dict(store or {}),
            plugins=plugins,
            sections=(net, *sections),
        )
        self._admin: AsyncAdmin | None = None

    @property
    def nameserver(self) -> str:
        """Address of the name server, as clients want it."""
        return self.cluster.nameserver

    async def __aenter__(self) -> AsyncStage:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start everything; on return the name server knows the broker."""
        await self.cluster.start()
        self._admin = AsyncAdmin(nameserver=self.nameserver)
        await self._admin.start()

    async def stop(self) -> None:
        """Stop everything and remove the files."""
        if self._admin is not None:
            await self._admin.stop()
        await self.cluster.stop()

    async def create_topic(self, name: str, queues: int = 4) -> None:
        """Create a topic; on return the name server knows it."""
        await self.cluster.create_topic(name, queues)

    async def settle(self, timeout: float = SETTLE_SECONDS) -> None:
        """Return when all that could happen at this time has happened.

        All that is stored for topics was handed to the listeners of all groups that subscribe to them, they
        are done with it, and the broker knows what is to come again. Members in other processes count as
        well, Java's too. Not seen are consumers that ask for messages when they like (lite pull, simple),
        messages that a producer was given by `submit` and nobody waited for, and threads of the application.

        `timeout`: real seconds. Raises `NotSettled` after them, naming what is under way.
        """
        await self._until_calm(None, timeout)

    async def wait_consumed(self, group: str, timeout: float = SETTLE_SECONDS) -> None:
        """Return when `group` has members, and they are done with all that is stored; else as `settle`."""
        await self._until_calm(group, timeout)

    async def advance(self, seconds: float) -> None:
        """Let time pass, with all that happens meanwhile: what is due comes at its own time, to the ms.

        It settles before, after, and whenever something was stored in between. Raises `NotSettled`.
        """
        end = self.clock.monotonic() + seconds
        await self.settle()
        while (now := self.clock.monotonic()) < end:
            due = self.clock.due_in
            stored = self._reader.max_offset
            await self.clock.aadvance(end - now if due is None else min(due, end - now))
            if self._reader.max_offset != stored:
                await self.settle()
        await self.settle()

    async def stored(self, topic: str) -> list[ReceivedMessage]:
        """All messages of `topic`, whoever sent them, in the order in which they were stored."""
        found: list[ReceivedMessage] = []
        for queue_id in range(self._queues(topic)):
            offset, end = self._reader.queue_min(topic, queue_id), self._reader.queue_max(topic, queue_id)
            while offset < end and (some := await self._reader.read(topic, queue_id, offset, _READ)):
                found += some
                offset = some[-1].queue_offset + 1
        return sorted(found, key=lambda message: message.commit_log_offset)

    # What is under way

    @property
    def _reader(self) -> Any:
        return self.cluster.broker.service_port.reader

    def _queues(self, topic: str) -> int:
        config = self.cluster.broker.service_port.topics.find(topic)
        return 0 if config is None else config.read_queue_nums

    async def _until_calm(self, group: str | None, timeout: float) -> None:
        end = time.monotonic() + timeout
        calm, before = 0, -1
        while calm < CALM_LOOKS:
            under_way = [line async for line in self._under_way(group)]
            now = self._reader.max_offset
            calm = 0 if under_way or now != before else calm + 1
            before = now
            if time.monotonic() > end:
                lines = "; ".join(under_way) or "messages are still being stored"
                raise NotSettled(f"after {timeout:g} s of real time: {lines}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _under_way(self, only: str | None) -> AsyncIterator[str]:
        groups = cast("Any", self.cluster.broker.service_port).clients.consumers
        if only is not None and only not in groups:
            yield f"nobody of group {only} is online"
        for group in [each for name, each in groups.items() if only in (None, name)]:
            if group.consume_type != CALLED:
                continue
            infos = {}
            for client_id in group.client_ids:
                try:
                    infos[client_id] = await self._running_info(group.name, client_id)
                except MqframeError as problem:
                    yield f"{client_id} of group {group.name} does not say what it does: {problem}"
            for line in self._behind(group, infos):
                yield line

    async def _running_info(self, group: str, client_id: str) -> ConsumerRunningInfo:
        assert self._admin is not None
        return await self._admin.members.running_info(group, client_id)

    def _behind(self, group: ConsumerGroup[Any], infos: Mapping[str, ConsumerRunningInfo]) -> Iterator[str]:
        broker = self.cluster.broker.service_port.identity.name
        for topic in list(group.subscriptions):
            for queue_id in range(self._queues(topic)):
                queue = MessageQueue(topic, broker, queue_id)
                end = self._reader.queue_max(topic, queue_id)
                owned = [each for info in infos.values() if (each := info.queues.get(queue)) is not None]
                if len(owned) < (len(infos) if group.broadcasting else 1):
                    if end or not topic.startswith(RETRY_PREFIX):
                        yield f"group {group.name} has not taken queue {queue_id} of {topic} yet"
                    continue
                for each in owned:
                    if left := _left(each, end, group.from_where == FROM_LAST):
                        yield f"group {group.name} has {left} of queue {queue_id} of {topic}"


def _left(info: ProcessQueueInfo, end: int, from_last: bool) -> str:
    """What a member still has to do in a queue that ends at `end`; "" for nothing."""
    if info.cached_msg_count:
        return f"{info.cached_msg_count} messages at work"
    if info.commit_offset < 0 and (from_last or not end):
        return ""  # it began where the queue ended
    if info.commit_offset < end:
        return f"{end - max(0, info.commit_offset)} messages before it"
    return ""


class Stage:
    """An `AsyncStage` in a loop and thread of its own, for tests that block. Takes the same arguments."""

    def __init__(
        self,
        *,
        clock: ManualClock | None = None,
        broker: Mapping[str, Any] | None = None,
        store: Mapping[str, Any] | None = None,
        sections: Sequence[Any] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        self._stage = AsyncStage(clock=clock, broker=broker, store=store, sections=sections, plugins=plugins)
        self._loop: LoopThread | None = None
        self.clock = self._stage.clock

    @property
    def nameserver(self) -> str:
        """Address of the name server, as clients want it."""
        return self._stage.nameserver

    def __enter__(self) -> Stage:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything; on return the name server knows the broker."""
        self._loop = LoopThread("mqframe-stage")
        try:
            self._run(self._stage.start())
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything and remove the files."""
        loop, self._loop = self._loop, None
        if loop is not None:
            try:
                loop.call(self._stage.stop())
            finally:
                loop.stop()

    def create_topic(self, name: str, queues: int = 4) -> None:
        """Create a topic; on return the name server knows it."""
        self._run(self._stage.create_topic(name, queues))

    def settle(self, timeout: float = SETTLE_SECONDS) -> None:
        """As `AsyncStage.settle`."""
        self._run(self._stage.settle(timeout))

    def wait_consumed(self, group: str, timeout: float = SETTLE_SECONDS) -> None:
        """As `AsyncStage.wait_consumed`."""
        self._run(self._stage.wait_consumed(group, timeout))

    def advance(self, seconds: float) -> None:
        """As `AsyncStage.advance`."""
        self._run(self._stage.advance(seconds))

    def stored(self, topic: str) -> list[ReceivedMessage]:
        """As `AsyncStage.stored`."""
        return self._run(self._stage.stored(topic))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise ClosedError("the stage was not started; use it in a with block")
        return self._loop.call(work)
