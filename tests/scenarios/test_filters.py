"""Consumers that choose messages by expressions, from the send to the listener."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from mqframe_pull.puller.blocking_puller import Puller
from mqframe_testing import AsyncCluster, Cluster, ManualClock

from mqframe import (
    AsyncProducer,
    AsyncPushConsumer,
    ConsumeResult,
    FixError,
    LitePullConsumer,
    Message,
    Producer,
    PushConsumer,
    SimpleConsumer,
    Sql,
)
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import AnswerError, AnswerFix
from mqframe.hooks.manager import PluginManager

GROUP = "billing"


class Scene:
    def __init__(self, cluster: AsyncCluster, clock: ManualClock) -> None:
        self.cluster = cluster
        self.clock = clock
        self.producer = AsyncProducer("shop", nameserver=cluster.nameserver, clock=clock)
        self.consumers: list[AsyncPushConsumer] = []
        self.got: list[int] = []

    def consumer(self, name: str = "m1", group: str = GROUP) -> AsyncPushConsumer:
        client = ClientSettings(nameserver=self.cluster.nameserver, instance_name=name)
        made = AsyncPushConsumer(group, clock=self.clock, client=client, consume_from="first")
        self.consumers.append(made)
        return made

    async def take(self, messages, context):
        self.got += [int(m.properties["amount"]) for m in messages]
        return ConsumeResult.SUCCESS

    async def send(self, *amounts: int) -> None:
        for amount in amounts:
            await self.producer.send(Message("orders", b"x", properties={"amount": str(amount)}))

    async def until(self, condition) -> None:
        for _ in range(400):
            if condition():
                return
            await self.clock.aadvance(0.1)
        raise AssertionError(f"not reached: {self.got}")

    async def finish(self, work):
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.clock.aadvance(0.1)
        return await task


@asynccontextmanager
async def staged(**options):
    clock = ManualClock()
    async with AsyncCluster(clock=clock, **options) as cluster:
        await cluster.create_topic("orders", 2)
        scene = Scene(cluster, clock)
        await scene.producer.start()
        try:
            yield scene
        finally:
            for consumer in scene.consumers:
                await scene.finish(consumer.stop())
            await scene.finish(scene.producer.stop())


async def test_a_listener_gets_what_its_expression_wants_old_and_new() -> None:
    async with staged() as scene:
        await scene.send(*range(40))
        consumer = scene.consumer()
        consumer.subscribe("orders", Sql("amount >= 30 OR amount = 7"), scene.take)
        await consumer.start()
        await scene.until(lambda: len(scene.got) == 11)
        await scene.send(1, 2, 99, 3)
        await scene.until(lambda: len(scene.got) == 12)
        await scene.clock.aadvance(30)
        assert sorted(scene.got) == [7, *range(30, 40), 99]


async def test_progress_is_made_past_what_is_not_wanted() -> None:
    async with staged() as scene:
        first = scene.consumer()
        first.subscribe("orders", Sql("amount > 100"), scene.take)
        await first.start()
        await scene.send(*range(20))
        await scene.clock.aadvance(30)
        scene.consumers.remove(first)
        await scene.finish(first.stop())
        # What the first one passed over is not looked at again.
        second = scene.consumer("m2")
        second.subscribe("orders", "*", scene.take)
        await second.start()
        await scene.send(20)
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(30)
        assert scene.got == [20]


async def test_another_expression_takes_the_place_of_the_first() -> None:
    async with staged() as scene:
        consumer = scene.consumer()
        consumer.subscribe("orders", Sql("amount < 10"), scene.take)
        await consumer.start()
        await scene.send(1, 11)
        await scene.until(lambda: scene.got == [1])
        await scene.clock.aadvance(20)  # 11 is passed over, also by a pull that waited when it came
        consumer.subscribe("orders", Sql("amount > 10"), scene.take)
        await scene.clock.aadvance(20)
        await scene.send(2, 12)
        await scene.until(lambda: 12 in scene.got)
        await scene.clock.aadvance(20)
        assert scene.got == [1, 12]


async def test_an_expression_that_is_none_stops_the_start_and_says_where() -> None:
    async with staged() as scene:
        consumer = scene.consumer()
        consumer.subscribe("orders", Sql("amount > 10 AND"), scene.take)
        with pytest.raises(AnswerFix, match=r"23 SUBSCRIPTION_PARSE_FAILED.*character 16"):
            await consumer.start()
        scene.consumers.clear()


async def test_a_broker_without_the_plugin_says_how_to_install_it() -> None:
    async with staged(plugins=PluginManager(list)) as scene:
        consumer = scene.consumer()
        consumer.subscribe("orders", Sql("amount > 10"), scene.take)
        with pytest.raises(AnswerError, match="pip install mqframe-plugin-sql92"):
            await consumer.start()
        scene.consumers.clear()


async def test_a_broker_that_is_too_old_is_refused(monkeypatch) -> None:
    async with staged() as scene:
        call = ClientInstance.call

        async def old(self, *args, **options):
            answer = await call(self, *args, **options)
            answer.version = 231
            return answer

        monkeypatch.setattr(ClientInstance, "call", old)
        consumer = scene.consumer()
        consumer.subscribe("orders", Sql("amount > 10"), scene.take)
        with pytest.raises(FixError, match="of protocol version 231 cannot filter by SQL92"):
            await consumer.start()
        scene.consumers.clear()


def test_threads_and_plain_pulls() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders", 1)
        got, ready = [], threading.Event()

        def handle(messages, context):
            got.extend(m.body for m in messages)
            if len(got) == 5:
                ready.set()
            return ConsumeResult.SUCCESS

        consumer = PushConsumer(GROUP, nameserver=cluster.nameserver, consume_from="first")
        consumer.subscribe("orders", Sql("n IN ('1', '3', '5', '7', '9')"), handle)
        with Producer("shop", nameserver=cluster.nameserver) as producer, consumer:
            for number in range(10):
                producer.send(Message("orders", b"%d" % number, properties={"n": str(number)}))
            assert ready.wait(120)
        assert got == [b"1", b"3", b"5", b"7", b"9"]
        with Puller(nameserver=cluster.nameserver) as puller:
            [queue] = puller.queues("orders")
            result = puller.pull(queue, 0, expression=Sql("n > 6"))
            assert [m.body for m in result.messages] == [b"7", b"8", b"9"]
            assert puller.pull(queue, 0, expression=Sql("n > 60")).status is PullStatus.NO_MATCHED_MSG
            with pytest.raises(FixError, match="character 4"):
                puller.pull(queue, 0, expression=Sql("n >"))


async def test_a_failed_message_comes_again_whatever_the_expression_says() -> None:
    async with staged() as scene:
        times: list[int] = []

        async def fail_once(messages, context):
            times.extend(m.reconsume_times for m in messages)
            return ConsumeResult.SUCCESS if times[-1] else ConsumeResult.RECONSUME_LATER

        consumer = scene.consumer()
        consumer.subscribe("orders", Sql("amount > 10"), fail_once)
        await consumer.start()
        await scene.send(5, 15)
        await scene.until(lambda: times == [0, 1])


def test_lite_pulls_and_pops_choose_as_well() -> None:
    with Cluster() as cluster:
        cluster.create_topic("orders", 1)
        with Producer("shop", nameserver=cluster.nameserver) as producer:
            for number in range(10):
                producer.send(Message("orders", b"%d" % number, properties={"n": str(number)}))
        with LitePullConsumer("lite", nameserver=cluster.nameserver, consume_from="first") as lite:
            lite.subscribe("orders", Sql("n >= 7"))
            pulled: list[bytes] = []
            while len(pulled) < 3:
                pulled += [message.body for message in lite.poll(5)]
        assert pulled == [b"7", b"8", b"9"]
        with SimpleConsumer("simple", nameserver=cluster.nameserver, consume_from="first") as simple:
            simple.subscribe("orders", Sql("n < 3"))
            popped: list[bytes] = []
            while len(popped) < 3:
                for message in simple.receive():
                    popped.append(message.body)
                    simple.ack(message)
        assert popped == [b"0", b"1", b"2"]
