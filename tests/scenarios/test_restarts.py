"""A broker or name server that is away for a second, or busy for a while, is no error for anybody.

Everything that clients do is under way meanwhile, in both APIs, over real sockets.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import pytest
from mqframe_pop.requests import AckMessage, BatchAckMessage, PopMessage
from mqframe_testing.cluster import Cluster
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.client.producer import AsyncTransactionProducer
from real_time import until

from mqframe import (
    AnswerError,
    AsyncProducer,
    AsyncPuller,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    ConnectError,
    Message,
    Producer,
    ReceivedMessage,
    SendHook,
    reply_to,
)
from mqframe.client.settings import ProducerSettings
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.requests.fields import Request
from mqframe.core.requests.messages import SendBatchMessage, SendMessageV2
from mqframe.core.requests.serving import Call

T = TypeVar("T")
QUEUES = 4
FIRST = asyncio.FIRST_COMPLETED


class Scene(ClusterScene):
    """A cluster with topics `orders`, `questions` and `work`; its time passes slowly, for busy machines."""

    def __init__(self) -> None:
        super().__init__(topics=dict.fromkeys(("orders", "questions", "work"), QUEUES))

    async def producer(self, group: str = "shop", **options: Any) -> AsyncProducer:
        return await self.open(AsyncProducer(group, nameserver=self.nameserver, clock=self.clock, **options))

    async def finish(self, work: Awaitable[T], step: float = 0.01) -> T:
        return await super().finish(work, step)

    def orders(self) -> list[list[bytes]]:
        """What is stored in `orders`, queue by queue."""
        return [self.bodies("orders", queue_id) for queue_id in range(QUEUES)]

    def refuse(self, count: int, *kinds: type[Request]) -> Counter[int]:
        """Have the next `count` requests of these kinds answered by SYSTEM_BUSY; counts them."""
        server = self.cluster.broker._listeners._public
        handlers = server._endpoint.handlers
        refused: Counter[int] = Counter()

        def wrap(serve: Callable[[Call], Any], call: Call) -> Any:
            if refused.total() < count:
                refused[call.frame.code] += 1
                raise Refusal(ResponseCode.SYSTEM_BUSY, "too much to do")
            return serve(call)

        server.replace({kind.CODE: partial(wrap, handlers[kind.CODE]) for kind in kinds})
        return refused


@pytest.mark.parametrize("how", ["stop_broker", "kill_broker"])
async def test_a_broker_that_restarts(how: str) -> None:
    async with Scene() as scene:
        clock = scene.clock
        producer = await scene.producer()
        transactions = await scene.open(
            AsyncTransactionProducer("pay", nameserver=scene.nameserver, clock=clock)
        )
        responder = AsyncPushConsumer(
            "answers", nameserver=scene.nameserver, clock=clock, consume_from="first"
        )
        responder.subscribe("questions", "*", lambda message: reply_to(message, message.body.upper()))
        await scene.open(responder)
        worker = AsyncSimpleConsumer(
            "workers", nameserver=scene.nameserver, clock=clock, consume_from="first"
        )
        worker.subscribe("work")
        await scene.open(worker)
        assert (await scene.finish(producer.request(Message("questions", b"before")))).body == b"BEFORE"
        for body in (b"1", b"2", b"3"):
            await producer.send(Message("work", body))
        got = []
        while len(got) < 3:
            got += await scene.finish(worker.receive(1, await_duration=5.0))
        delayed = await producer.send(Message("orders", b"taken back"), delay=3600)
        puller = await scene.open(AsyncPuller(nameserver=scene.nameserver, clock=clock))
        assert len(await puller.queues("work")) == QUEUES
        half_done, over = asyncio.Event(), asyncio.Event()

        async def transaction() -> None:
            async with transactions.transaction(Message("orders", b"half before")):
                half_done.set()
                await over.wait()

        async def second_transaction() -> None:
            async with transactions.transaction(Message("orders", b"half meanwhile")):
                pass

        ending = asyncio.ensure_future(transaction())
        await scene.finish(asyncio.wait((ending, asyncio.ensure_future(half_done.wait())), return_when=FIRST))
        assert not ending.done()
        await getattr(scene.cluster, how)()
        over.set()
        works: list[Awaitable[Any]] = [
            producer.send(Message("orders", b"free")),
            producer.send(Message("orders", b"by key"), sharding_key="k"),
            producer.send_batch([Message("orders", b"batch 1"), Message("orders", b"batch 2")]),
            producer.send_oneway(Message("orders", b"one-way")),
            producer.recall("orders", delayed.recall_handle or ""),
            producer.request(Message("questions", b"meanwhile"), timeout=30.0),
            ending,
            second_transaction(),
            worker.receive(1, await_duration=0.0),
        ]
        if how == "stop_broker":  # a killed one forgets pops that it has not written down yet
            works += [
                worker.ack(got[0]),
                worker.ack_batch(got[1:2]),
                worker.change_invisible_duration(got[2], 60.0),
            ]
        tasks = [asyncio.ensure_future(work) for work in works]
        pulling = asyncio.ensure_future(puller.pull(got[0].queue, 0))
        futures = [
            await producer.submit(Message("orders", b"submitted %d" % n), sharding_key=n % 3 or None)
            for n in range(200)
        ]
        await clock.aadvance(1.0)
        assert [task.done() for task in tasks] == [False] * len(tasks)
        assert not any(future.done() for future in futures)
        await scene.cluster.start_broker()
        results = [await scene.finish(task) for task in tasks]
        assert [message.body for message in (await scene.finish(pulling)).messages] == [got[0].body]
        assert results[5].body == b"MEANWHILE"
        await scene.finish(producer.flush())
        places = {((await future).queue.queue_id, (await future).queue_offset) for future in futures}
        assert len(places) == 200
        wanted = [b"free", b"by key", b"batch 1", b"batch 2", b"one-way", b"half before", b"half meanwhile"]
        wanted += [b"submitted %d" % n for n in range(200)]
        await clock.aadvance(1.0)
        stored = scene.orders()
        assert Counter(body for queue in stored for body in queue) == Counter(wanted)
        for key in (1, 2):  # the order of each key
            [queue] = [queue for queue in stored if b"submitted %d" % key in queue]
            of_key = [b"submitted %d" % n for n in range(200) if n % 3 == key]
            assert [body for body in queue if body in of_key] == of_key
        if how == "stop_broker":
            assert results[8] == []
            # Two are done, one is hidden.
            assert await clock.finish(worker.receive(3, await_duration=30.0)) == []
            [again] = await clock.finish(worker.receive(3, await_duration=60.0))
            assert again.body == got[2].body


async def test_a_name_server_that_restarts() -> None:
    async with Scene() as scene:
        clock, cluster = scene.clock, scene.cluster
        port = int(cluster.nameserver.rpartition(":")[2])
        producer = await scene.producer()
        await cluster.name_server.stop()
        works = [
            producer.send(Message("orders", b"sent")),
            producer.send_oneway(Message("orders", b"one-way")),
            producer.submit(Message("orders", b"submitted")),
        ]
        tasks = [asyncio.ensure_future(work) for work in works]
        await clock.aadvance(1.0)
        assert [task.done() for task in tasks] == [False] * 3
        await cluster.restart_name_server()
        assert int(cluster.nameserver.rpartition(":")[2]) == port
        for task in tasks:
            await scene.finish(task)
        await scene.finish(producer.flush())
        assert sorted(body for queue in scene.orders() for body in queue) == [
            b"one-way",
            b"sent",
            b"submitted",
        ]


async def test_a_reply_that_is_made_while_the_broker_is_away() -> None:
    async with Scene() as scene:
        clock = scene.clock
        producer, answers = await scene.producer(), await scene.producer("answers")
        asked, over = asyncio.Event(), asyncio.Event()

        async def answer(message: ReceivedMessage) -> None:
            asked.set()
            await over.wait()
            await answers.send(reply_to(message, message.body.upper()))

        responder = AsyncPushConsumer(
            "answers", nameserver=scene.nameserver, clock=clock, consume_from="first"
        )
        responder.subscribe("questions", "*", answer)
        await scene.open(responder)
        asking = asyncio.ensure_future(producer.request(Message("questions", b"why"), timeout=30.0))
        await scene.finish(asked.wait())
        await scene.cluster.stop_broker()
        over.set()
        await clock.aadvance(1.0)
        assert not asking.done()
        await scene.cluster.start_broker()
        assert (await scene.finish(asking)).body == b"WHY"


async def test_a_broker_that_is_busy_for_a_while() -> None:
    async with Scene() as scene:
        clock = scene.clock
        producer = await scene.producer()
        worker = AsyncSimpleConsumer(
            "workers", nameserver=scene.nameserver, clock=clock, consume_from="first"
        )
        worker.subscribe("work")
        await scene.open(worker)
        await producer.send(Message("work", b"1"))
        refused = scene.refuse(4, PopMessage)
        [message] = await scene.finish(worker.receive(1))
        assert refused == {PopMessage.CODE: 4}
        scene.refuse(2, AckMessage, BatchAckMessage)
        await scene.finish(worker.ack(message))
        refused = scene.refuse(5, SendMessageV2)
        for number in range(3):
            await scene.finish(producer.send(Message("orders", b"%d" % number), sharding_key="k"))
        assert refused == {SendMessageV2.CODE: 5}
        assert [queue for queue in scene.orders() if queue] == [[b"0", b"1", b"2"]]
        scene.refuse(1000, SendMessageV2)
        with pytest.raises(AnswerError, match="too much to do") as caught:
            await scene.finish(producer.send(Message("orders", b"never")))
        assert not caught.value.maybe_stored


async def test_submitted_messages_of_which_a_broker_refuses_many() -> None:
    count = 50_000

    async with Scene() as scene:
        producer = await scene.producer(settings=ProducerSettings(waiting_messages_max=count))
        refused = scene.refuse(60, SendBatchMessage, SendMessageV2)
        futures = []
        for number in range(count):
            key = number % 7 if number % 2 else None
            futures.append(await producer.submit(Message("orders", b"%d" % number), sharding_key=key))
        await scene.finish(producer.flush())
        assert refused.total() == 60
        places = [(future.result().queue.queue_id, future.result().queue_offset) for future in futures]
        stored = scene.orders()
        assert len(set(places)) == count
        assert [stored[queue_id][offset] for queue_id, offset in places] == [b"%d" % n for n in range(count)]
        assert sum(map(len, stored)) == count
        for queue in stored:  # each key came in its order
            for key in range(7):
                numbers = [n for n in map(int, queue) if n % 2 and n % 7 == key]
                assert numbers == sorted(numbers)


class Watch(SendHook):
    """Counts tries that found nobody."""

    def __init__(self, away: Callable[[], object]) -> None:
        self._away = away

    def after(self, context: Any) -> None:
        if isinstance(context.error, ConnectError):
            self._away()


def test_threads() -> None:
    with Cluster() as cluster, ThreadPoolExecutor(8) as pool:
        cluster.create_topic("orders", 4)
        met, needed = Counter[str](), 6

        def away() -> None:
            met["away"] += 1
            if met["away"] == needed:
                pool.submit(cluster.start_broker)

        with Producer("shop", nameserver=cluster.nameserver, send_hooks=[Watch(away)]) as producer:
            producer.send(Message("orders", b"before"))
            cluster.kill_broker()
            until(lambda: not producer._remoting.addresses)  # it has seen that the connection ended
            sends = [
                pool.submit(producer.send, Message("orders", b"sent %d" % n), sharding_key=n)
                for n in range(3)
            ]
            submitted = [producer.submit(Message("orders", b"submitted %d" % n)) for n in range(100)]
            oneway = pool.submit(producer.send_oneway, Message("orders", b"one-way"))
            places = {(r.queue, r.queue_offset) for r in [f.result(60) for f in (*sends, *submitted)]}
            oneway.result(60)
            assert len(places) == 103
            assert met["away"] >= needed
