"""Consumers that choose messages by expressions, from the send to the listener."""

from __future__ import annotations

import threading

import pytest
from mqframe_pull.puller.blocking_puller import Puller
from mqframe_testing import Cluster, ClusterScene

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


class FilterScene(ClusterScene):
    """A cluster with topic `orders`, whose messages have amounts, and consumers that choose by them."""

    def __init__(self, **options) -> None:
        super().__init__(topics={"orders": 2}, **options)
        self.got: list[int] = []

    async def start(self) -> None:
        await super().start()
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    async def join(self, expression, listener=None, name: str = "m1") -> AsyncPushConsumer:
        client = ClientSettings(nameserver=self.nameserver, instance_name=name)
        consumer = AsyncPushConsumer(GROUP, clock=self.clock, client=client, consume_from="first")
        consumer.subscribe("orders", expression, listener or self.take)
        return await self.open(consumer)

    async def take(self, messages, context):
        self.got += [int(m.properties["amount"]) for m in messages]
        return ConsumeResult.SUCCESS

    async def send(self, *amounts: int) -> None:
        for amount in amounts:
            await self.producer.send(Message("orders", b"x", properties={"amount": str(amount)}))


async def test_a_listener_gets_what_its_expression_wants_old_and_new() -> None:
    async with FilterScene() as scene:
        await scene.send(*range(40))
        await scene.join(Sql("amount >= 30 OR amount = 7"))
        await scene.until(lambda: len(scene.got) == 11)
        await scene.send(1, 2, 99, 3)
        await scene.until(lambda: len(scene.got) == 12)
        await scene.clock.aadvance(30)
        assert sorted(scene.got) == [7, *range(30, 40), 99]


async def test_progress_is_made_past_what_is_not_wanted() -> None:
    async with FilterScene() as scene:
        first = await scene.join(Sql("amount > 100"))
        await scene.send(*range(20))
        await scene.clock.aadvance(30)
        await scene.close(first)
        # What the first one passed over is not looked at again.
        await scene.join("*", name="m2")
        await scene.send(20)
        await scene.until(lambda: scene.got)
        await scene.clock.aadvance(30)
        assert scene.got == [20]


async def test_another_expression_takes_the_place_of_the_first() -> None:
    async with FilterScene() as scene:
        consumer = await scene.join(Sql("amount < 10"))
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
    async with FilterScene() as scene:
        with pytest.raises(AnswerFix, match=r"23 SUBSCRIPTION_PARSE_FAILED.*character 16"):
            await scene.join(Sql("amount > 10 AND"))


async def test_a_broker_without_the_plugin_says_how_to_install_it() -> None:
    async with FilterScene(plugins=PluginManager(list)) as scene:
        with pytest.raises(AnswerError, match="pip install mqframe-plugin-sql92"):
            await scene.join(Sql("amount > 10"))


async def test_a_broker_that_is_too_old_is_refused(monkeypatch) -> None:
    async with FilterScene() as scene:
        call = ClientInstance.call

        async def old(self, *args, **options):
            answer = await call(self, *args, **options)
            answer.version = 231
            return answer

        monkeypatch.setattr(ClientInstance, "call", old)
        with pytest.raises(FixError, match="of protocol version 231 cannot filter by SQL92"):
            await scene.join(Sql("amount > 10"))


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
    async with FilterScene() as scene:
        times: list[int] = []

        async def fail_once(messages, context):
            times.extend(m.reconsume_times for m in messages)
            return ConsumeResult.SUCCESS if times[-1] else ConsumeResult.RECONSUME_LATER

        await scene.join(Sql("amount > 10"), fail_once)
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
