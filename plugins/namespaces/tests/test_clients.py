"""All kinds of clients in a namespace, beside others with the same names, on a clock that tests move."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mqframe_testing import Cluster, ClusterScene

from mqframe import (
    AsyncAdmin,
    AsyncLitePullConsumer,
    AsyncProducer,
    AsyncPuller,
    AsyncPushConsumer,
    AsyncSimpleConsumer,
    AsyncTransactionProducer,
    ClientSettings,
    ConsumeHook,
    ConsumeResult,
    ConsumerSettings,
    Message,
    Producer,
    Puller,
    PushConsumer,
    ReceivedMessage,
    RpcHook,
    SendHook,
    SettingError,
    TransactionListener,
    TransactionOutcome,
    reply_to,
)
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.core.wire import loose_json

OK, LATER = ConsumeResult.SUCCESS, ConsumeResult.RECONSUME_LATER
HERE = MessageQueue("orders", "broker-a", 0)


class NamespaceScene(ClusterScene):
    """A cluster with the topic `orders` in two namespaces and in none, and what handlers of each got."""

    def __init__(self, **options: Any) -> None:
        super().__init__(topics={"orders": 1, "shop%orders": 1, "farm%orders": 1}, **options)
        self.got: dict[str, list[ReceivedMessage]] = {"": [], "shop": [], "farm": []}
        self.fails = 0

    def settings(self, namespace: str, name: str = "", **fields: Any) -> ClientSettings:
        return ClientSettings(nameserver=self.nameserver, namespace=namespace, instance_name=name, **fields)

    async def producer(self, namespace: str, **options: Any) -> AsyncProducer:
        client = self.settings(namespace, f"p-{namespace}-{len(self.opened)}")
        return await self.open(AsyncProducer("p", client=client, clock=self.clock, **options))

    async def consumer(self, namespace: str, **options: Any) -> AsyncPushConsumer:
        client = self.settings(namespace, options.pop("name", f"c-{namespace}"))
        made = AsyncPushConsumer(
            "billing", client=client, clock=self.clock, **{"consume_from": "first", **options}
        )

        async def handle(messages: list[ReceivedMessage], context: Any) -> ConsumeResult:
            self.got[namespace] += messages
            return LATER if messages[0].reconsume_times < self.fails else OK

        made.subscribe("orders", "*", handle)
        return await self.open(made)

    async def admin(self) -> AsyncAdmin:
        return await self.open(AsyncAdmin(client=self.settings("shop"), clock=self.clock))


def seen(messages: list[ReceivedMessage]) -> list[tuple[str, bytes]]:
    return [(message.topic, message.body) for message in messages]


@pytest.mark.parametrize("options", [{}, {"ordered": True}, {"mode": "pop"}], ids=str)
async def test_tenants_with_the_same_names_get_what_is_theirs(options: dict[str, Any]) -> None:
    async with NamespaceScene() as scene:
        for namespace in scene.got:
            producer = await scene.producer(namespace)
            await scene.consumer(namespace, **options)
            sent = await scene.finish(producer.send(Message("orders", b"for " + namespace.encode())))
            assert sent.queue == HERE
        await scene.until(lambda: all(scene.got.values()))
        assert {name: seen(got) for name, got in scene.got.items()} == {
            name: [("orders", b"for " + name.encode())] for name in scene.got
        }
        assert scene.got["shop"][0].properties["INSTANCE_ID"] == "shop"
        assert "INSTANCE_ID" not in scene.got[""][0].properties
        assert scene.bodies("shop%orders") == [b"for shop"]
        admin = await scene.admin()
        members = await admin.members.consumers("shop%billing")
        assert [each.client_id.partition("@")[2] for each in members.connection_set] == ["c-shop"]
        assert "shop%orders" in members.subscription_table


@pytest.mark.parametrize("options", [{}, {"mode": "pop"}], ids=str)
async def test_what_fails_comes_again_and_becomes_a_dead_letter(
    options: dict[str, Any],
) -> None:
    async with NamespaceScene() as scene:
        scene.fails = 99
        settings = ConsumerSettings(max_reconsume_times=1)
        await scene.consumer("shop", settings=settings, **options)
        producer = await scene.producer("shop")
        await scene.finish(producer.send(Message("orders", b"x")))
        await scene.until(lambda: scene.bodies("%DLQ%shop%billing"), 600.0)
        assert seen(scene.got["shop"]) == [("orders", b"x")] * 2
        assert [message.reconsume_times for message in scene.got["shop"]] == [0, 1]
        assert scene.bodies("%DLQ%billing") == []


async def test_broadcasting_members_keep_files_of_their_own(tmp_path: Path) -> None:
    async with NamespaceScene() as scene:
        settings = ConsumerSettings(offset_directory=tmp_path)
        consumers = [
            await scene.consumer(name, name="DEFAULT", broadcasting=True, settings=settings)
            for name in ("", "shop")
        ]
        for name in ("", "shop"):
            await scene.finish((await scene.producer(name)).send(Message("orders", b"x")))
        await scene.until(lambda: scene.got[""] and scene.got["shop"])
        ids = {consumer.client_id for consumer in consumers}
        assert len(ids) == 1
        for consumer in consumers:
            await scene.close(consumer)
        folder = tmp_path / ids.pop()
        files = {path.parent.name: path.read_bytes() for path in folder.glob("*/offsets.json")}
        assert {name: loose_json.loads(text) for name, text in files.items()} == {
            "billing": {"offsetTable": {HERE: 1}},
            "shop%billing": {"offsetTable": {HERE._replace(topic="shop%orders"): 1}},
        }


async def test_lite_pull_consumers_and_pullers() -> None:
    async with NamespaceScene() as scene:
        producer = await scene.producer("shop")
        for body in (b"a", b"b"):
            await scene.finish(producer.send(Message("orders", body)))
        client = scene.settings("shop", "lite")
        lite = AsyncLitePullConsumer("lite", client=client, clock=scene.clock, consume_from="first")
        lite.subscribe("orders")
        await scene.open(lite)
        await scene.until(lambda: lite.assignment == [HERE])
        assert seen(await scene.finish(lite.poll(30.0))) == [("orders", b"a"), ("orders", b"b")]
        await scene.finish(lite.commit())
        assert await scene.finish(lite.committed(HERE)) == 2
        await scene.finish(lite.seek(HERE, 1))
        assert seen(await scene.finish(lite.poll(30.0))) == [("orders", b"b")]
        puller = await scene.open(AsyncPuller("jobs", client=scene.settings("shop"), clock=scene.clock))
        assert await scene.finish(puller.queues("orders")) == [HERE]
        found = await scene.finish(puller.pull(HERE, 0))
        assert seen(list(found.messages)) == [("orders", b"a"), ("orders", b"b")]
        assert "orders" in await scene.finish(puller.topics())
        assert "farm%orders" not in await scene.finish(puller.topics())


async def test_simple_consumers_see_again_what_they_did_not_acknowledge() -> None:
    async with NamespaceScene() as scene:
        producer = await scene.producer("shop")
        client = scene.settings("shop", "simple")
        simple = AsyncSimpleConsumer("simple", client=client, clock=scene.clock, consume_from="first")
        simple.subscribe("orders")
        await scene.open(simple)
        await scene.finish(producer.send(Message("orders", b"x")))
        [first] = await scene.finish(simple.receive(8, 10.0))
        assert first.topic == "orders"
        await scene.pass_time(11.0)
        [again] = await scene.finish(simple.receive(8, 10.0))
        assert (again.topic, again.body, again.delivery_attempt) == ("orders", b"x", 2)
        await scene.finish(simple.change_invisible_duration(again, 60.0))
        await scene.finish(simple.ack(again))
        await scene.pass_time(70.0)
        assert await scene.finish(simple.receive(8, 10.0)) == []


class Asked(TransactionListener):
    """Leaves transactions open until a broker asks."""

    def __init__(self) -> None:
        self.asked: list[ReceivedMessage] = []

    async def execute_local_transaction(self, message: Message, arg: Any) -> TransactionOutcome:
        return TransactionOutcome.UNKNOWN

    async def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.asked.append(message)
        return TransactionOutcome.COMMIT


async def test_brokers_ask_for_transactions_and_are_answered() -> None:
    async with NamespaceScene() as scene:
        listener = Asked()
        client = scene.settings("shop", "t")
        producer = await scene.open(AsyncTransactionProducer("p", listener, client=client, clock=scene.clock))
        await scene.finish(producer.send_in_transaction(Message("orders", b"half")))
        await scene.until(lambda: scene.bodies("shop%orders"), 300.0)
        assert seen(listener.asked) == [("orders", b"half")]
        assert listener.asked[0].properties["PGROUP"] == "p"


async def test_requests_get_their_replies() -> None:
    async with NamespaceScene() as scene:
        asking, answering = await scene.producer("shop"), await scene.producer("shop")
        client = scene.settings("shop", "answers")
        consumer = AsyncPushConsumer("answers", client=client, clock=scene.clock, consume_from="first")

        async def handle(messages: list[ReceivedMessage], context: Any) -> ConsumeResult:
            await answering.send(reply_to(messages[0], messages[0].body.upper()))
            return OK

        consumer.subscribe("orders", "*", handle)
        await scene.open(consumer)
        reply = await scene.finish(asking.request(Message("orders", b"hello"), timeout=30))
        assert (reply.topic, reply.body) == ("DefaultCluster_REPLY_TOPIC", b"HELLO")


async def test_a_delayed_message_is_taken_back() -> None:
    async with NamespaceScene() as scene:
        producer = await scene.producer("shop")
        sent = await scene.finish(producer.send(Message("orders", b"later"), delay=60))
        assert sent.recall_handle is not None
        recalled = await scene.finish(producer.recall("orders", sent.recall_handle))
        assert recalled == sent.message_id
        await scene.finish(producer.send(Message("orders", b"soon"), delay=10))
        await scene.until(lambda: scene.bodies("shop%orders") == [b"soon"])


class Sight(SendHook):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def before(self, context: Any) -> None:
        self.seen.append((context.group, context.messages[0].topic, context.queue.topic))


class ConsumeSight(ConsumeHook):
    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    def before(self, context: Any) -> None:
        self.seen.append((context.group, context.messages[0].topic, context.queue.topic))


class Wire(RpcHook):
    def __init__(self) -> None:
        self.topics: set[str] = set()

    def before(self, address: str, request: Any) -> None:
        self.topics.add((request.ext or {}).get("b", ""))


async def test_hooks_see_plain_names_and_rpc_hooks_the_wire() -> None:
    async with NamespaceScene(broker={"trace_topic": True}) as scene:
        sending, consuming, wire = Sight(), ConsumeSight(), Wire()
        producer = await scene.producer("shop", send_hooks=[sending, "trace"], rpc_hooks=[wire])
        consumer = await scene.consumer("shop", consume_hooks=[consuming, "trace"])
        await scene.finish(producer.send(Message("orders", b"x")))
        await scene.until(lambda: scene.got["shop"])
        assert sending.seen == [("p", "orders", "orders")]
        assert consuming.seen == [("billing", "orders", "orders")]
        assert wire.topics - {""} == {"shop%orders"}
        for client in (consumer, producer):
            await scene.close(client)
        told = b"".join(scene.bodies(TRACE_TOPIC))
        assert b"\x01p\x01orders\x01" in told
        assert b"\x01billing\x01" in told
        assert b"shop%" not in told


async def test_operators_see_and_reset_members_by_the_names_of_brokers() -> None:
    async with NamespaceScene() as scene:
        producer = await scene.producer("shop")
        consumer = await scene.consumer("shop")
        for body in (b"a", b"b"):
            await scene.finish(producer.send(Message("orders", body)))
        await scene.until(lambda: len(scene.got["shop"]) == 2)
        admin = await scene.admin()
        assert {"orders", "shop%orders"} <= set(await scene.finish(admin.topics.list()))
        info = await scene.finish(admin.members.running_info("shop%billing", consumer.client_id))
        within = HERE._replace(topic="shop%orders")
        assert within in info.mq_table
        assert "shop%orders" in info.status_table
        assert {each.topic for each in info.subscription_set} == {"shop%orders", "%RETRY%shop%billing"}
        await scene.finish(admin.offsets.reset("shop%billing", "shop%orders", 0))
        await scene.until(lambda: len(scene.got["shop"]) == 4)
        assert seen(scene.got["shop"]) == [("orders", body) for body in (b"a", b"b", b"a", b"b")]


async def test_who_names_a_topic_within_the_namespace_gets_it_so() -> None:
    async with NamespaceScene() as scene:
        producer = await scene.producer("shop")
        sent = await scene.finish(producer.send(Message("shop%orders", b"x")))
        assert sent.queue.topic == "shop%orders"
        assert scene.bodies("shop%orders") == [b"x"]
        client = scene.settings("shop", "within")
        consumer = AsyncPushConsumer("shop%billing", client=client, clock=scene.clock, consume_from="first")

        async def handle(messages: list[ReceivedMessage], context: Any) -> ConsumeResult:
            scene.got["shop"] += messages
            return LATER if len(scene.got["shop"]) == 1 else OK

        consumer.subscribe("shop%orders", "*", handle)
        await scene.open(consumer)
        await scene.until(lambda: len(scene.got["shop"]) == 2)
        assert seen(scene.got["shop"]) == [("shop%orders", b"x")] * 2


async def test_submitted_messages_and_batches() -> None:
    async with NamespaceScene() as scene:
        producer = await scene.producer("shop")
        futures = [await producer.submit(Message("orders", b"%d" % n)) for n in range(5)]
        results = await scene.finish(asyncio.gather(*futures))
        assert {result.queue for result in results} == {HERE}
        await scene.finish(producer.send_batch([Message("orders", b"5"), Message("orders", b"6")]))
        stored = scene.stored("shop%orders")
        assert [message.body for message in stored] == [b"%d" % n for n in range(7)]
        assert {message.properties["INSTANCE_ID"] for message in stored} == {"shop"}


async def test_a_namespace_that_cannot_be_is_refused_before_anything_is_sent() -> None:
    async with NamespaceScene() as scene:
        with pytest.raises(SettingError, match="may hold only"):
            await scene.producer("a%b")


CONFIGURATION = """
[client]
nameserver = "{}"
namespace = "shop"
[consumer]
group = "billing"
consume_from = "first"
[producer]
group = "p"
"""


def test_blocking_clients_of_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Cluster() as cluster:
        for topic in ("orders", "shop%orders", "farm%orders"):
            cluster.create_topic(topic, 1)
        file = tmp_path / "app.toml"
        file.write_text(CONFIGURATION.format(cluster.nameserver))
        got: list[tuple[str, bytes]] = []
        consumer = PushConsumer.from_config(file)

        @consumer.on("orders")
        def handle(message: ReceivedMessage) -> None:
            got.append((message.topic, message.body))
            if len(got) == 3:
                consumer.end()

        with Producer.from_config(file) as producer, Puller.from_config(file) as puller:
            assert producer.send(Message("orders", b"one")).queue == HERE
            producer.send_oneway(Message("orders", b"two"))
            assert producer.submit(Message("orders", b"three")).result(60).queue == HERE
            consumer.run()
            assert sorted(got) == [("orders", body) for body in (b"one", b"three", b"two")]
            assert puller.queues("orders") == [HERE]
            assert len(puller.pull(HERE, 0).messages) == 3
        monkeypatch.setenv("MQFRAME_CLIENT_NAMESPACE", "farm")
        with Producer.from_config(file) as producer, Puller.from_config(file) as puller:
            producer.send(Message("orders", b"four"))
            assert [message.body for message in puller.pull(HERE, 0).messages] == [b"four"]
