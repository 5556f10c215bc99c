"""All clients under brokers and name servers that lie, by seeds; then, when these are sound again.

While they lie, every call ends, within its time, with a result or an error of ours, and a send that says that
nothing is stored tells the truth. Afterwards everything works again, without a new client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hostile import HostileClient
from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer
from mqframe_pull.puller.puller import AsyncPuller
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_transactions.client.producer import AsyncTransactionProducer

from mqframe import AsyncAdmin
from mqframe.client.configuration.consumer_settings import ConsumerSettings
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.consumer import AsyncPushConsumer
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import Message, MessageQueue

TOPIC = "orders"
STEPS = 60
CALL_SECONDS_MAX = 200.0
"""Longest time that any call may take here, s on the manual clock: some try several brokers and servers."""
CALM_SECONDS_MAX = 240.0
"""Time within which everything works again: a few polls of routes, rebalances and delayed retries."""


class World:
    """One client of each kind over connections that lie."""

    def __init__(self, seed: int, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.clock = clock
        self.hostile = HostileClient(clock, seed)
        self.random = self.hostile.random
        settings = ClientSettings(nameserver=cluster.nameserver)
        self.instance = instance = ClientInstance(settings, clock, self.hostile)
        shared: dict[str, Any] = {"instance": instance, "clock": clock}
        self.producer = AsyncProducer("shop", **shared)
        self.transactions = AsyncTransactionProducer("tills", **shared)
        self.push = AsyncPushConsumer("pushed", consume_from="first", **shared)
        # A body that came damaged would hold its queue up for as long as the listener refuses it.
        few = ConsumerSettings(max_reconsume_times=3)
        self.ordered = AsyncPushConsumer(
            "ordered", consume_from="first", ordered=True, settings=few, **shared
        )
        self.lite = AsyncLitePullConsumer("polled", consume_from="first", **shared)
        self.simple = AsyncSimpleConsumer("popped", consume_from="first", await_duration=1.0, **shared)
        self.puller = AsyncPuller(instance=instance)
        self.admin = AsyncAdmin(client=settings, clock=clock)
        self.admin._calls.instance = instance
        self.not_stored: set[bytes] = set()
        self.stored: set[bytes] = set()
        self.seen: dict[str, set[bytes]] = {name: set() for name in ("pushed", "ordered", "polled", "popped")}
        self.futures: list[tuple[bytes, asyncio.Future[Any]]] = []
        self.numbers = iter(range(10**9))

    async def start(self) -> None:
        self.push.subscribe(TOPIC, "*", self._listener("pushed"))
        self.ordered.subscribe(TOPIC, "*", self._listener("ordered"))
        self.lite.subscribe(TOPIC)
        self.simple.subscribe(TOPIC)
        await self.instance.start()
        for client in (self.producer, self.transactions, self.push, self.ordered, self.lite, self.simple):
            await self.bounded(client.start())

    async def stop(self) -> None:
        for client in (self.producer, self.transactions, self.push, self.ordered, self.lite, self.simple):
            await self.bounded(client.stop())
        await self.bounded(self.instance.stop())

    def _listener(self, name: str) -> Any:
        async def consume(messages: Any, context: Any) -> ConsumeResult:
            self.seen[name].update(message.body for message in messages)
            return ConsumeResult.SUCCESS

        return consume

    async def bounded(self, work: Awaitable[Any]) -> Any:
        """The result of a call, within its time. Raises what the call raises."""
        task = asyncio.ensure_future(work)
        end = self.clock.monotonic() + CALL_SECONDS_MAX
        while not task.done():
            assert self.clock.monotonic() < end, f"a call without an end: {task}"
            await self.clock.aadvance(0.25)
        return task.result()

    def body(self) -> bytes:
        return b"message %d" % next(self.numbers)

    # Calls

    async def send(self) -> None:
        body = self.body()
        queue = self.random.choice((None, None, MessageQueue(TOPIC, "broker-a", 1)))
        try:
            await self.bounded(self.producer.send(Message(TOPIC, body), queue=queue))
            self.stored.add(body)
        except MqframeError as problem:
            self._judge(problem, body)

    async def send_batch(self) -> None:
        bodies = [self.body(), self.body()]
        try:
            await self.bounded(self.producer.send_batch([Message(TOPIC, body) for body in bodies]))
            self.stored.update(bodies)
        except MqframeError as problem:
            self._judge(problem, *bodies)

    async def submit(self) -> None:
        for _ in range(3):
            body = self.body()
            try:
                self.futures.append((body, await self.bounded(self.producer.submit(Message(TOPIC, body)))))
            except MqframeError as problem:
                self._judge(problem, body)

    async def settle(self) -> None:
        """Have all submitted messages told."""
        await self.bounded(self.producer.flush())
        futures, self.futures = self.futures, []
        for body, future in futures:
            assert future.done(), "a future without an end"
            problem = future.exception()
            if problem is None:
                self.stored.add(body)
            else:
                assert isinstance(problem, MqframeError), repr(problem)
                self._judge(problem, body)

    def _judge(self, problem: MqframeError, *bodies: bytes) -> None:
        said = str(problem)
        assert not (problem.maybe_stored and "nothing was sent" in said), said
        if not problem.maybe_stored:
            self.not_stored.update(bodies)

    async def calls(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """A call of which only the end matters."""
        try:
            return await self.bounded(call())
        except MqframeError:
            return None

    async def receive(self) -> None:
        for message in await self.calls(lambda: self.simple.receive(8, 30.0)) or ():
            self._look(message, "popped")
            await self.calls(lambda message=message: self.simple.ack(message))

    async def poll(self) -> None:
        for message in await self.calls(lambda: self.lite.poll(1.0)) or ():
            self._look(message, "polled")

    def _look(self, message: Any, name: str) -> None:
        """Everything that an application may look at raises errors of ours at most."""
        for field in ("properties", "tag", "keys", "message_id", "born_host", "store_host", "transaction_id"):
            getattr(message, field)
        try:
            self.seen[name].add(message.body)
        except MqframeError:
            return

    async def ask_about(self) -> None:
        queue = MessageQueue(TOPIC, "broker-a", self.random.randrange(2))
        await self.calls(
            self.random.choice(
                (
                    lambda: self.puller.pull(queue, self.random.randrange(5)),
                    lambda: self.puller.pull_raw(queue, 0),
                    lambda: self.puller.max_offset(queue),
                    lambda: self.puller.committed(queue),
                    lambda: self.puller.queues(TOPIC),
                    lambda: self.puller.topics(),
                    lambda: self.admin.cluster.info(),
                    lambda: self.admin.topics.stats(TOPIC),
                    lambda: self.admin.topics.route(TOPIC),
                    lambda: self.admin.groups.stats("pushed"),
                    lambda: self.admin.members.consumers("pushed"),
                    lambda: self.admin.groups.list(),
                    lambda: self.admin.groups.configs(),
                    lambda: self.admin.messages.query(TOPIC, "key"),
                    lambda: self.admin.topics.config(TOPIC),
                    lambda: self.admin.brokers.runtime(queue.broker_name),
                    lambda: self.lite.commit(),
                    lambda: self.producer.queues(TOPIC),
                )
            )
        )

    async def request(self) -> None:
        await self.calls(lambda: self.producer.request(Message(TOPIC, self.body()), timeout=2.0))

    async def transact(self) -> None:
        async def whole() -> None:
            async with self.transactions.transaction(Message(TOPIC, self.body())):
                pass

        await self.calls(whole)

    async def step(self) -> None:
        await self.random.choice(
            (
                self.send,
                self.send,
                self.send_batch,
                self.submit,
                self.receive,
                self.poll,
                self.ask_about,
                self.ask_about,
                self.request,
                self.transact,
                lambda: self.calls(self.hostile.ask),
                lambda: self.clock.aadvance(self.random.choice((1, 5, 31))),
            )
        )()

    # The truth

    async def calm(self) -> None:
        """Servers are sound again: what is sent now arrives everywhere, without a new client."""
        self.hostile.rate = 0.0
        await self.clock.aadvance(31)  # the next polls of routes
        await self.settle()
        late = [self.body() for _ in range(4)]
        for number, body in enumerate(late):
            queue = MessageQueue(TOPIC, "broker-a", number % 2)
            await self.bounded(self.producer.send(Message(TOPIC, body), queue=queue))
        end = self.clock.monotonic() + CALM_SECONDS_MAX
        while any(not seen.issuperset(late) for seen in self.seen.values()):
            missing = {name: set(late) - seen for name, seen in self.seen.items() if set(late) - seen}
            assert self.clock.monotonic() < end, f"not delivered again: {missing}"
            await self.receive()
            await self.poll()
        there = await self.all_stored()
        assert not self.stored - there, "said to be stored, and is not"
        assert not self.not_stored & there, "said not to be stored, and is"

    async def all_stored(self) -> set[bytes]:
        found: set[bytes] = set()
        for queue in await self.bounded(self.puller.queues(TOPIC)):
            at = 0
            while result := await self.bounded(self.puller.pull(queue, at)):
                found.update(message.body for message in result.messages)
                at = result.next_offset
                if at >= result.max_offset:
                    break
        return found


async def played(seed: int) -> None:
    clock = ManualClock()
    async with AsyncCluster(clock=clock) as cluster:
        await cluster.create_topic(TOPIC, 2)
        world = World(seed, cluster, clock)
        try:
            await world.start()
            world.hostile.rate = world.random.choice((0.1, 0.3, 0.6, 0.9))
            for _ in range(STEPS):
                await world.step()
            await world.calm()
            assert len(world.instance._tasks) < 50
            assert world.hostile.in_flight_requests < 50
        except BaseException as problem:
            problem.add_note(f"seed {seed}; the last lies: {world.hostile.lies[-25:]}")
            raise
        finally:
            world.hostile.rate = 0.0
            await world.stop()


@pytest.mark.seeds(4, more=396)
async def test_whatever_servers_answer_clients_end_their_calls_in_words_and_recover(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "mqframe"):
        await played(seed)
    # A task that ended by an error does its work no more.
    faults = [f"{each.getMessage()}: {each.exc_info[1]!r}" for each in caplog.records if each.exc_info]
    assert not faults, f"seed {seed}: {faults}"
