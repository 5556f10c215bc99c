"""Requests and their replies: what is said before the first, who waits how long, each side by each API."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import cast

import pytest
from mqframe_request_reply.requests import PushReplyMessageToClient
from mqframe_testing import Cluster, ClusterScene
from mqframe_testing.consuming import ClientScene

from mqframe import (
    AnswerError,
    AsyncProducer,
    AsyncPushConsumer,
    ClosedError,
    ConsumeResult,
    FixError,
    Message,
    MessageError,
    Producer,
    PushConsumer,
    RequestTimeout,
    RouteError,
    reply_to,
)
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.errors import CallTimeout, MqframeError
from mqframe.core.messages.properties import decode_properties, encode_properties
from mqframe.core.requests.consumers import HeartBeat
from mqframe.core.requests.fields import encode_fields
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame


class RequestScene(ClusterScene):
    """A cluster with topics `questions` and `others`, producers that ask, and consumers that answer."""

    def __init__(self, brokers: int = 1, **options) -> None:
        super().__init__(brokers, topics={"questions": 2, "others": 2}, **options)
        self.asked: list = []

    async def producer(self, name: str, **options) -> AsyncProducer:
        if "instance" not in options:
            options["client"] = ClientSettings(nameserver=self.nameserver, instance_name=name)
        return await self.open(AsyncProducer(f"p-{name}", clock=self.clock, **options))

    async def instance(self, name: str) -> ClientInstance:
        """A client instance for producers to share; it shows who waits for replies."""
        settings = ClientSettings(nameserver=self.nameserver, instance_name=name)
        return await self.open(ClientInstance.connect(settings, self.clock))

    async def responder(
        self, name: str, producer: AsyncProducer, topic: str = "questions", answer=bytes.upper
    ):
        client = ClientSettings(nameserver=self.nameserver, instance_name=f"c-{name}")
        made = AsyncPushConsumer(f"g-{name}", client=client, clock=self.clock, consume_from="first")

        async def handle(messages, context):
            for message in messages:
                self.asked.append(message)
                if answer is not None:
                    await producer.send(reply_to(message, answer(message.body)))
            return ConsumeResult.SUCCESS

        made.subscribe(topic, "*", handle)
        return await self.open(made)


async def test_a_request_gets_its_reply() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering)
        reply = await scene.finish(asking.request(Message("questions", b"hello"), timeout=30))
        assert reply.body == b"HELLO"
        assert reply.topic == "DefaultCluster_REPLY_TOPIC"
        [message] = scene.asked
        assert message.properties["TTL"] == "30000"
        assert message.properties["REPLY_TO_CLIENT"] == asking.client_id
        for name in ("CORRELATION_ID", "REPLY_TO_CLIENT", "TTL"):
            assert reply.properties[name] == message.properties[name]
        assert {"PUSH_REPLY_TIME", "ARRIVE_TIME"} <= reply.properties.keys()


async def test_many_at_once_each_get_their_own() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering)
        bodies = [b"q%d" % n for n in range(60)]
        requests = [asking.request(Message("questions", body), timeout=30) for body in bodies]
        replies = await scene.finish(asyncio.gather(*requests))
        assert [reply.body for reply in replies] == [body.upper() for body in bodies]
        assert len({reply.properties["CORRELATION_ID"] for reply in replies}) == 60


async def test_two_clients_ask_each_other() -> None:
    async with RequestScene() as scene:
        one, two = await scene.producer("a"), await scene.producer("b")
        await scene.responder("a", one, "questions", lambda body: b"one: " + body)
        await scene.responder("b", two, "others", lambda body: b"two: " + body)
        replies = await scene.finish(
            asyncio.gather(
                one.request(Message("others", b"x"), timeout=30),
                two.request(Message("questions", b"y"), timeout=30),
                one.request(Message("questions", b"myself"), timeout=30),
            )
        )
        assert [reply.body for reply in replies] == [b"two: x", b"one: y", b"one: myself"]


async def test_a_request_to_a_queue_and_by_key() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering)
        queue = (await asking.queues("questions"))[1]
        await scene.finish(asking.request(Message("questions", b"x"), queue=queue, timeout=30))
        await scene.finish(asking.request(Message("questions", b"y"), sharding_key="k", timeout=30))
        assert scene.asked[0].queue == queue


async def test_a_reply_may_be_sent_without_waiting_but_not_packed_with_others() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering, answer=None)
        waiting = asyncio.ensure_future(asking.request(Message("questions", b"x"), timeout=30))
        await scene.until(lambda: scene.asked)
        reply = reply_to(scene.asked[0], b"answer")
        with pytest.raises(MessageError, match="cannot be packed"):
            await answering.submit(reply)
        with pytest.raises(MessageError, match="cannot be packed"):
            await answering.send_batch([reply])
        assert not waiting.done()
        await answering.send_oneway(reply)
        assert (await waiting).body == b"answer"


async def test_large_bodies_are_packed_both_ways() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering)
        body = b"abc" * 20_000
        reply = await scene.finish(asking.request(Message("questions", body), timeout=30))
        assert reply.body == body.upper()


async def test_nobody_answers_in_time_and_what_comes_late_is_dropped(caplog) -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering, answer=None)
        waiting = asyncio.ensure_future(asking.request(Message("questions", b"x"), timeout=5))
        for _ in range(40):
            await scene.clock.aadvance(0.1)
        assert not waiting.done()
        await scene.clock.aadvance(1.1)
        with pytest.raises(RequestTimeout, match="was sent, and no reply came in time"):
            await waiting
        await answering.send(reply_to(scene.asked[0], b"late"))
        late = [record for record in caplog.records if "nobody waits for a reply" in record.getMessage()]
        assert len(late) == 1
        reply = asyncio.ensure_future(asking.request(Message("questions", b"y"), timeout=5))
        await scene.until(lambda: len(scene.asked) == 2)
        await answering.send(reply_to(scene.asked[1], b"in time"))
        assert (await reply).body == b"in time"


async def test_the_default_time_out_is_a_setting() -> None:
    async with RequestScene() as scene:
        settings = ProducerSettings(reply_timeout_seconds=60.0)
        asking = await scene.producer("a", settings=settings)
        waiting = asyncio.ensure_future(asking.request(Message("questions", b"x")))
        await scene.clock.aadvance(59.5)
        assert not waiting.done()
        await scene.clock.aadvance(1)
        with pytest.raises(RequestTimeout):
            await waiting


async def test_a_request_that_nobody_waits_for_any_more() -> None:
    async with RequestScene() as scene:
        instance = await scene.instance("a")
        asking, answering = await scene.producer("a", instance=instance), await scene.producer("b")
        await scene.responder("b", answering, answer=None)
        waiting = asyncio.ensure_future(asking.request(Message("questions", b"x"), timeout=30))
        await scene.until(lambda: scene.asked)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(instance.replies) == 0
        await answering.send(reply_to(scene.asked[0], b"late"))


async def test_a_producer_that_stops_tells_who_waits() -> None:
    async with RequestScene() as scene:
        asking = await scene.producer("a")
        waiting = asyncio.ensure_future(asking.request(Message("questions", b"x"), timeout=30))
        await scene.clock.aadvance(0.5)
        await scene.close(asking)
        with pytest.raises(ClosedError, match="before the reply came"):
            await waiting


async def test_requests_that_cannot_be_sent() -> None:
    async with RequestScene() as scene:
        instance = await scene.instance("a")
        asking = await scene.producer("a", instance=instance)
        with pytest.raises(MessageError, match="is empty"):
            await asking.request(Message("questions", b""))
        with pytest.raises(MessageError, match="belongs to the system"):
            await asking.request(Message("questions", b"x", properties={"CORRELATION_ID": "mine"}))
        await asking.send(Message("questions", b"plain"))
        assert len(instance.replies) == 0


async def test_a_topic_that_does_not_exist_yet() -> None:
    async with RequestScene(broker={"auto_create_topics": False}) as scene:
        instance = await scene.instance("a")
        asking, answering = await scene.producer("a", instance=instance), await scene.producer("b")
        with pytest.raises(RouteError):
            await scene.finish(asking.request(Message("later", b"x"), timeout=5))
        assert len(instance.replies) == 0
        await scene.cluster.create_topic("later", 1)
        await scene.responder("b", answering, "later")
        reply = await scene.finish(asking.request(Message("later", b"x"), timeout=30))
        assert reply.body == b"X"


async def test_a_reply_to_a_client_that_left_fails_at_the_replier() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering, answer=None)
        waiting = asyncio.ensure_future(asking.request(Message("questions", b"x"), timeout=60))
        await scene.until(lambda: scene.asked)
        waiting.cancel()
        await scene.close(asking)
        with pytest.raises(AnswerError, match=r"no producer .* is connected to this broker"):
            await scene.finish(answering.send(reply_to(scene.asked[0], b"late")))


async def test_replies_are_not_for_everything() -> None:
    async with RequestScene() as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering, answer=None)
        await asking.send(Message("questions", b"no request"))
        await scene.until(lambda: scene.asked)
        with pytest.raises(FixError, match="is no request"):
            reply_to(scene.asked[0], b"answer")


async def test_a_reply_finds_its_way_over_any_broker_of_the_cluster() -> None:
    async with RequestScene(brokers=3) as scene:
        asking, answering = await scene.producer("a"), await scene.producer("b")
        await scene.responder("b", answering)
        for number in range(8):  # replies go round the brokers
            reply = await scene.finish(asking.request(Message("questions", b"%d" % number), timeout=30))
            assert reply.body == b"%d" % number


def test_threads_ask_and_answer() -> None:
    with Cluster() as cluster:
        cluster.create_topic("questions", 2)
        started = threading.Barrier(8)
        answering = Producer("p-b", nameserver=cluster.nameserver)
        consumer = PushConsumer("g", nameserver=cluster.nameserver, consume_from="first")

        @consumer.on("questions")
        def handle(messages, context):
            for message in messages:
                answering.send(reply_to(message, message.body.upper()))
            return ConsumeResult.SUCCESS

        with answering, consumer, Producer("p-a", nameserver=cluster.nameserver) as asking:

            def ask(number):
                started.wait(120)
                return asking.request(Message("questions", b"q%d" % number), timeout=120).body

            with ThreadPoolExecutor(8) as threads:
                assert list(threads.map(ask, range(8))) == [b"Q%d" % number for number in range(8)]
            with pytest.raises(RequestTimeout):
                asking.request(Message("nobody", b"x"), timeout=2.0)


class Answering:
    """A broker that stores requests and hands over the replies in `replies`, one for each that is sent."""

    def __init__(self, scene) -> None:
        self.scene = scene
        self.replies: list[bytes | None] = []
        self.fails: list[MqframeError] = []
        self.sent: list = []
        scene.broker.script(SendMessageV2, *[self.store] * 9)

    def store(self, request):
        self.sent.append(request)
        asked = decode_properties(request.properties)
        reply = self.replies.pop(0) if self.replies else None
        if reply is not None:
            properties = encode_properties({"CORRELATION_ID": asked["CORRELATION_ID"]})
            host = "10.1.1.2:5000"
            fields = PushReplyMessageToClient("g", "r", "", 4, 0, 0, 7, 0, host, host, 8, properties)
            frame = Frame(PushReplyMessageToClient.CODE, ext=encode_fields(fields), body=reply)
            self.scene.broker.handlers[frame.code](Call(frame, cast("Peer", None), 0.0))
        if self.fails:
            raise self.fails.pop(0)
        return Frame(0, ext={"msgId": "0A000001000078FC0000000000000000", "queueId": "0", "queueOffset": "1"})


@asynccontextmanager
async def staged_alone(**settings):
    """`story` with a producer over a scripted broker of the topics `questions` and `others`."""
    async with ClientScene({"questions": 1, "others": 1}) as scene:
        options = ProducerSettings(reply_timeout_seconds=5.0, **settings)
        producer = AsyncProducer("p", instance=scene.instance, clock=scene.clock, settings=options)
        await producer.start()
        try:
            yield (scene, producer, Answering(scene))
        finally:
            await scene.finish(producer.stop())


class TestGettingKnown:
    """The broker that a reply goes through must know the client before the request leaves."""

    async def test_first_requests_of_a_topic_share_one_heartbeat_and_later_ones_need_none(self) -> None:
        async with staged_alone() as (scene, producer, broker):
            broker.replies = [b"1", b"2", b"3", b"4"]
            await producer.queues("questions")
            await scene.pass_time()
            before = len(scene.broker.heartbeats)
            asked = [producer.request(Message("questions", b"x"), timeout=5) for _ in range(3)]
            replies = await scene.finish(asyncio.gather(*asked), 0.0)
            assert sorted(reply.body for reply in replies) == [b"1", b"2", b"3"]
            assert len(scene.broker.heartbeats) == before + 1
            kinds = [type(request) for request in scene.broker.requests]
            assert len(kinds) - 1 - kinds[::-1].index(HeartBeat) < kinds.index(SendMessageV2)
            assert (await scene.finish(producer.request(Message("questions", b"x")), 0.0)).body == b"4"
            assert len(scene.broker.heartbeats) == before + 1

    async def test_it_is_tried_again_by_the_next_request_when_it_failed(self) -> None:
        async with staged_alone(default_topic="none") as (scene, producer, broker):
            broker.replies = [b"late"]
            del scene.broker.topics["others"]
            for _ in range(2):
                with pytest.raises(RouteError):
                    await scene.finish(producer.request(Message("others", b"x")))
            scene.broker.topics["others"] = 1
            await producer.queues("others")
            await scene.pass_time()
            before = len(scene.broker.heartbeats)
            assert (await scene.finish(producer.request(Message("others", b"x")), 0.0)).body == b"late"
            assert (len(broker.sent), len(scene.broker.heartbeats)) == (1, before + 1)

    async def test_nothing_is_sent_when_it_takes_too_long(self) -> None:
        async with staged_alone() as (scene, producer, broker):
            never = asyncio.get_running_loop().create_future()
            scene.broker.script(HeartBeat, *[lambda request: never] * 9)
            with pytest.raises(RouteError, match="questions did not get to know this client within 1 s"):
                await scene.finish(producer.request(Message("questions", b"x"), timeout=1))
            assert broker.sent == []
            never.set_result(Frame(0))

    async def test_a_request_says_how_long_it_is_of_use_once_the_client_is_known(self) -> None:
        async with staged_alone() as (scene, producer, broker):
            broker.replies = [b"1"]
            late = asyncio.get_running_loop().create_future()
            scene.broker.script(HeartBeat, *[lambda request: late] * 9)
            asking = asyncio.ensure_future(producer.request(Message("questions", b"x"), timeout=5))
            await scene.pass_time(2.0)
            assert broker.sent == []
            late.set_result(Frame(0))
            assert (await scene.finish(asking, 0.0)).body == b"1"
            [request] = broker.sent
            left = int(decode_properties(request.properties)["TTL"])
            assert 2900 <= left <= 3000


class TestWaiting:
    async def test_a_request_says_where_its_reply_goes_and_how_long_it_is_of_use(self) -> None:
        async with staged_alone() as (scene, producer, broker):
            broker.replies = [b"1", b"2"]
            await scene.finish(producer.request(Message("questions", b"x", properties={"own": "1"})), 0.0)
            await scene.finish(producer.request(Message("questions", b"x"), timeout=2.5), 0.0)
            first, second = (decode_properties(request.properties) for request in broker.sent)
            assert (first["own"], first["TTL"], second["TTL"]) == ("1", "5000", "2500")
            assert first["REPLY_TO_CLIENT"] == scene.instance.client_id
            assert first["CORRELATION_ID"] != second["CORRELATION_ID"]
            long = Message("questions", b"x", properties={"long": "x" * 32_700})
            with pytest.raises(MessageError, match="32767 are allowed"):
                await scene.finish(producer.request(long), 0.0)
            assert (len(scene.instance.replies), len(broker.sent)) == (0, 2)

    async def test_a_reply_that_is_there_outweighs_a_send_that_failed(self) -> None:
        async with staged_alone(retries_sync=0) as (scene, producer, broker):
            broker.replies = [b"all the same"]
            broker.fails = [CallTimeout("no answer")] * 3
            reply = await scene.finish(producer.request(Message("questions", b"x"), timeout=1))
            assert reply.body == b"all the same"
            broker.fails = [CallTimeout("no answer")] * 9
            with pytest.raises(CallTimeout, match="no answer"):
                await scene.finish(producer.request(Message("questions", b"x"), timeout=1))
            assert len(scene.instance.replies) == 0
