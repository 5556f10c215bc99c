"""All clients under brokers and name servers that lie, by seeds; then, when these are sound again.

While they lie, every call ends, within its time, with a result or an error of ours, and a send that says that
nothing is stored tells the truth. Afterwards everything works again, without a new client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from hostile import HostileClient
from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer
from mqframe_pull.puller.puller import AsyncPuller
from mqframe_testing.cluster_scene import ClusterScene
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

T = TypeVar("T")
TOPIC = "orders"
STEPS = 60
CALL_SECONDS_MAX = 200.0
"""Longest time that any call may take here, s on the manual clock: some try several brokers and servers."""
RESTING_SECONDS = 61.0
"""Time until nobody stands where a lie led: the longest pull, the pause after one that failed, the next one.

Who stands beyond the end of a queue is led to its end by the next pull, past whatever was sent meanwhile.
"""
CALM_SECONDS_MAX = 240.0
"""Time within which everything works again: a few polls of routes, rebalances and delayed retries."""


class World(ClusterScene):
    """A cluster with topic `orders` of two queues, and one client of each kind over connections that lie."""

    def __init__(self, seed: int) -> None:
        super().__init__(topics={TOPIC: 2})
        self.hostile = HostileClient(self.clock, seed)
        self.random = self.hostile.random
        self.said_not_stored: set[bytes] = set()
        self.said_stored: set[bytes] = set()
        self.seen: dict[str, set[bytes]] = {name: set() for name in ("pushed", "ordered", "polled", "popped")}
        self.futures: list[tuple[bytes, asyncio.Future[Any]]] = []
        self.numbers = iter(range(10**9))

    async def start(self) -> None:
        await super().start()
        settings = ClientSettings(nameserver=self.nameserver)
        self.instance = instance = await self.open(ClientInstance(settings, self.clock, self.hostile))
        shared: dict[str, Any] = {"instance": instance, "clock": self.clock}
        self.producer = await self.open(AsyncProducer("shop", **shared))
        self.transactions = await self.open(AsyncTransactionProducer("tills", **shared))
        push = AsyncPushConsumer("pushed", consume_from="first", **shared)
        push.subscribe(TOPIC, "*", self._listener("pushed"))
        # A body that came damaged would hold its queue up for as long as the listener refuses it.
        few = ConsumerSettings(max_reconsume_times=3)
        ordered = AsyncPushConsumer("ordered", consume_from="first", ordered=True, settings=few, **shared)
        ordered.subscribe(TOPIC, "*", self._listener("ordered"))
        self.lite = AsyncLitePullConsumer("polled", consume_from="first", **shared)
        self.lite.subscribe(TOPIC)
        self.simple = AsyncSimpleConsumer("popped", consume_from="first", await_duration=1.0, **shared)
        self.simple.subscribe(TOPIC)
        for consumer in (push, ordered, self.lite, self.simple):
            await self.open(consumer)
        self.puller = AsyncPuller(instance=instance)
        self.admin = AsyncAdmin(client=settings, clock=self.clock)
        self.admin._calls.instance = instance

    async def stop(self) -> None:
        self.hostile.rate = 0.0
        await super().stop()

    def _listener(self, name: str) -> Any:
        async def consume(messages: Any, context: Any) -> ConsumeResult:
            self.seen[name].update(message.body for message in messages)
            return ConsumeResult.SUCCESS

        return consume

    async def finish(self, work: Awaitable[T], step: float = 0.25) -> T:
        """The result of a call, within its time. Raises what the call raises."""
        task = asyncio.ensure_future(work)
        end = self.clock.monotonic() + CALL_SECONDS_MAX
        while not task.done():
            assert self.clock.monotonic() < end, f"a call without an end: {task}"
            await self.pass_time(step)
        return await task

    def body(self) -> bytes:
        return b"message %d" % next(self.numbers)

    # Calls

    async def send_one(self) -> None:
        body = self.body()
        queue = self.random.choice((None, None, MessageQueue(TOPIC, "broker-a", 1)))
        try:
            await self.finish(self.producer.send(Message(TOPIC, body), queue=queue))
            self.said_stored.add(body)
        except MqframeError as problem:
            self._judge(problem, body)

    async def send_batch(self) -> None:
        bodies = [self.body(), self.body()]
        try:
            await self.finish(self.producer.send_batch([Message(TOPIC, body) for body in bodies]))
            self.said_stored.update(bodies)
        except MqframeError as problem:
            self._judge(problem, *bodies)

    async def submit(self) -> None:
        for _ in range(3):
            body = self.body()
            try:
                self.futures.append((body, await self.finish(self.producer.submit(Message(TOPIC, body)))))
            except MqframeError as problem:
                self._judge(problem, body)

    async def hear_of_submitted(self) -> None:
        """Have all submitted messages told."""
        await self.finish(self.producer.flush())
        futures, self.futures = self.futures, []
        for body, future in futures:
            assert future.done(), "a future without an end"
            problem = future.exception()
            if problem is None:
                self.said_stored.add(body)
            else:
                assert isinstance(problem, MqframeError), repr(problem)
                self._judge(problem, body)

    def _judge(self, problem: MqframeError, *bodies: bytes) -> None:
        said = str(problem)
        assert not (problem.maybe_stored and "nothing was sent" in said), said
        if not problem.maybe_stored:
            self.said_not_stored.update(bodies)

    async def calls(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """A call of which only the end matters."""
        try:
            return await self.finish(call())
        except MqframeError:
            return None

    async def receive(self) -> None:
        for message in await self.calls(lambda: self.simple.receive(8, 30.0)) or ():
            self._look(message, "popped")
            await self.calls(lambda message=message: self.simple.ack(message))

    async def poll(self) -> bool:
        messages = await self.calls(lambda: self.lite.poll(1.0)) or ()
        for message in messages:
            self._look(message, "polled")
        return bool(messages)

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
                self.send_one,
                self.send_one,
                self.send_batch,
                self.submit,
                self.receive,
                self.poll,
                self.ask_about,
                self.ask_about,
                self.request,
                self.transact,
                lambda: self.calls(self.hostile.ask),
                lambda: self.pass_time(self.random.choice((1, 5, 31))),
            )
        )()

    # The truth

    async def calm(self) -> None:
        """Servers are sound again: what is sent now arrives everywhere, without a new client."""
        self.hostile.rate = 0.0
        await self.pass_time(RESTING_SECONDS)
        while await self.poll():
            pass  # one that is held with a false offset would keep out the one that gets this offset next
        await self.hear_of_submitted()
        late = [self.body() for _ in range(4)]
        for number, body in enumerate(late):
            queue = MessageQueue(TOPIC, "broker-a", number % 2)
            await self.finish(self.producer.send(Message(TOPIC, body), queue=queue))
        end = self.clock.monotonic() + CALM_SECONDS_MAX
        while any(not seen.issuperset(late) for seen in self.seen.values()):
            missing = {name: set(late) - seen for name, seen in self.seen.items() if set(late) - seen}
            assert self.clock.monotonic() < end, f"not delivered again: {missing}"
            await self.receive()
            await self.poll()
        there = await self.all_stored()
        assert not self.said_stored - there, "said to be stored, and is not"
        assert not self.said_not_stored & there, "said not to be stored, and is"

    async def all_stored(self) -> set[bytes]:
        found: set[bytes] = set()
        for queue in await self.finish(self.puller.queues(TOPIC)):
            at = 0
            while result := await self.finish(self.puller.pull(queue, at)):
                found.update(message.body for message in result.messages)
                at = result.next_offset
                if at >= result.max_offset:
                    break
        return found


async def played(seed: int) -> None:
    async with World(seed) as world:
        try:
            world.hostile.rate = world.random.choice((0.1, 0.3, 0.6, 0.9))
            for _ in range(STEPS):
                await world.step()
            await world.calm()
            assert len(world.instance._tasks) < 50
            assert world.hostile.in_flight_requests < 50
        except BaseException as problem:
            problem.add_note(f"seed {seed}; the last lies: {world.hostile.lies[-25:]}")
            raise


@pytest.mark.seeds(4, more=396)
async def test_whatever_servers_answer_clients_end_their_calls_in_words_and_recover(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mqframe"):  # what was done is shown beside a failure
        await played(seed)
    # A task that ended by an error does its work no more.
    errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    faults = [f"{each.getMessage()}: {each.exc_info[1]!r}" for each in errors if each.exc_info]
    assert not faults, f"seed {seed}: {faults}"
