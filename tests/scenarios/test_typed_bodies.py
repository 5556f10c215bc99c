"""Values as bodies from producer to handler, and what becomes of bodies that are none."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import msgspec
import pytest
from mqframe_testing import ClusterScene
from mqframe_testing.consuming import AllQueues, MemoryOffsets

from mqframe import (
    AsyncAdmin,
    AsyncProducer,
    AsyncPushConsumer,
    ConsumeResult,
    ConsumerSettings,
    DecodeError,
    FixError,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
    TransactionProducer,
)

GROUP = "billing"
SECRET = "4711-secret"


@dataclass
class Order:
    id: int
    articles: list[str]


class Parcel(msgspec.Struct):
    weight: float


class Scene(ClusterScene):
    """A cluster with topic `orders` of one queue, an administrator and a producer; it makes consumers."""

    def __init__(self) -> None:
        super().__init__(topics={"orders": 1})

    async def start(self) -> None:
        await super().start()
        self.admin = await self.open(AsyncAdmin(nameserver=self.nameserver, clock=self.clock))
        self.producer = await self.open(AsyncProducer("shop", nameserver=self.nameserver, clock=self.clock))

    def make(self, **options) -> AsyncPushConsumer:
        options = {"consume_from": "first", **options}
        return AsyncPushConsumer(GROUP, nameserver=self.nameserver, clock=self.clock, **options)

    async def send(self, *messages: Message | bytes) -> None:
        """Send messages; bytes are a body for `orders`."""
        for each in messages:
            message = Message("orders", each) if isinstance(each, bytes) else each
            await self.finish(self.producer.send(message))

    async def done_with(self, offset: int) -> None:
        """Until the queue is committed up to `offset`."""
        for _ in range(600):
            stats = await self.finish(self.admin.groups.stats(GROUP, "orders"))
            (found,) = [each.consumer_offset for queue, each in stats.items() if queue.topic == "orders"]
            if found == offset:
                return
            await self.pass_time(0.5)
            await self.settle()
        raise AssertionError(f"committed: {found}")

    async def dead(self):
        async def read():
            await self.admin.dead_letters.open(GROUP)
            try:
                return await self.admin.dead_letters.list(GROUP)
            except FixError:  # its topic was made just now, and is not open yet
                return []

        return await self.finish(read())


async def test_a_handler_gets_the_value_that_was_sent() -> None:
    async with Scene() as scene:
        got = []
        consumer = scene.make()

        @consumer.on("orders", type=Order)
        async def handle(order: Order, message: ReceivedMessage, context) -> None:
            got.append((order, message.tag, message.properties["contentType"], context.group))

        await scene.open(consumer)
        message = scene.producer.message("orders", Order(7, ["tea"]), tag="paid", keys=["k1"])
        assert (message.body, message.keys) == (b'{"id":7,"articles":["tea"]}', ["k1"])
        await scene.send(message)
        await scene.until(lambda: got)
        assert got == [(Order(7, ["tea"]), "paid", "application/json", GROUP)]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
async def test_what_cannot_be_decoded_is_a_dead_letter_at_once_that_says_why(
    ordered, is_async, caplog
) -> None:
    with caplog.at_level("DEBUG"):
        async with Scene() as scene:
            got = []
            if is_async:

                async def handle(order: Order) -> None:
                    got.append(order.id)

            else:

                def handle(order: Order) -> None:
                    got.append(order.id)

            consumer = scene.make(ordered=ordered)
            consumer.subscribe("orders", "*", handle, type=Order)
            bad = Message(
                "orders", f'{{"id":"{SECRET}","articles":[]}}'.encode(), properties={"mine": "x"}, tag="t"
            )
            await scene.send(Message.of("orders", Order(1, [])), bad, Message.of("orders", Order(2, [])))
            await scene.open(consumer)
            await scene.until(lambda: len(got) == 2)
            assert (got if ordered else sorted(got)) == [1, 2]
            await scene.done_with(3)
            (letter,) = await scene.dead()
            assert letter.reason == "json: Expected `int`, got `str` at $.id"
            assert letter.topic == "orders"
            assert letter.message.body == bad.body
            assert letter.message.properties["mine"] == "x"
            assert letter.message.tag == "t"
    assert SECRET not in caplog.text


async def test_with_retry_only_the_last_failure_is_a_dead_letter_and_says_why() -> None:
    async with Scene() as scene:

        def handle(order: Order) -> None:
            raise AssertionError("nothing can be decoded")

        consumer = scene.make(settings=ConsumerSettings(max_reconsume_times=2, on_decode_error="retry"))
        consumer.subscribe("orders", "*", handle, codec="json")
        await scene.open(consumer)
        await scene.send(b"{")
        await scene.done_with(1)
        assert await scene.dead() == []
        letters = []
        for _ in range(1000):
            letters = await scene.dead()
            if letters:
                break
            await scene.pass_time(5.0)
            await scene.settle()
        (letter,) = letters
        assert letter.reason == "json: Input data was truncated"
        assert letter.message.reconsume_times == 3


@pytest.mark.parametrize("ordered", [False, True])
async def test_with_drop_it_is_gone(ordered) -> None:
    async with Scene() as scene:
        got = []
        consumer = scene.make(ordered=ordered)

        @consumer.on("orders", type=list[int], on_decode_error="drop")
        async def handle(numbers) -> None:
            got.append(numbers)

        await scene.send(b"[1]", b'["x"]', b"[2]")
        await scene.open(consumer)
        await scene.done_with(3)
        assert sorted(got) == [[1], [2]]
        assert await scene.dead() == []


async def test_in_order_a_retried_body_holds_its_queue_up_to_the_limit_and_then_says_why() -> None:
    async with Scene() as scene:
        got = []
        settings = ConsumerSettings(max_reconsume_times=2, on_decode_error="retry")
        consumer = scene.make(ordered=True, settings=settings)

        @consumer.on("orders", type=list[int])
        async def handle(numbers) -> None:
            got.append((scene.clock.monotonic(), numbers))

        await scene.send(b"[1]", b'["x"]', b"[2]")
        await scene.open(consumer)
        await scene.done_with(3)
        (first, one), (second, two) = got
        assert (one, two) == ([1], [2])
        assert second - first >= 2  # it was tried again twice, a second apart
        (letter,) = await scene.dead()
        assert letter.reason == "json: Expected `int`, got `str` at $[0]"
        assert letter.message.body == b'["x"]'


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("choice", ["dead_letter", "retry", "drop"])
async def test_in_broadcasting_what_cannot_be_decoded_is_dropped(ordered, choice, tmp_path) -> None:
    async with Scene() as scene:
        got = []
        consumer = scene.make(
            broadcasting=True, ordered=ordered, offset_store=("local", {"directory": tmp_path})
        )

        @consumer.on("orders", type=list[int], on_decode_error=choice)
        async def handle(numbers) -> None:
            got.append(numbers)

        await scene.send(b"[1]", b'["x"]', b"[2]")
        await scene.open(consumer)
        if ordered and choice == "retry":
            await scene.until(lambda: got == [[1]])  # as with every failure in order, its queue waits
        else:
            await scene.until(lambda: len(got) == 2)
            assert sorted(got) == [[1], [2]]
            assert await scene.dead() == []


async def test_without_a_choice_the_content_type_names_the_codec() -> None:
    from mqframe.core.messages.json_codec import JsonCodec
    from mqframe.hooks.manager import PluginManager
    from mqframe.hooks.specs import hookimpl

    class Backwards(JsonCodec):
        name, content_type = "backwards", "application/avro"

        def encode(self, value):
            return super().encode(value)[::-1]

        def decode(self, body, type):
            return super().decode(body[::-1], type)

    class Plugin:
        @hookimpl
        def register_codecs(self):
            return {"avro": Backwards}

    plugins = PluginManager(list)
    plugins.register(Plugin())

    async with Scene() as scene:
        got = []
        options = {"allocate": AllQueues(), "offset_store": MemoryOffsets()}
        consumer = scene.make(plugins=plugins, **options)

        @consumer.on("orders", type=Order)
        async def handle(order: Order, message: ReceivedMessage) -> None:
            got.append((order.id, message.properties["contentType"]))

        for number, codec in enumerate((JsonCodec(), Backwards())):
            await scene.send(Message.of("orders", Order(number, []), codec=codec))
        await scene.open(consumer)
        await scene.until(lambda: len(got) == 2)
        assert sorted(got) == [(0, "application/json"), (1, "application/avro")]


def test_clients_take_their_codec_from_a_configuration(mqframe_cluster, tmp_path) -> None:
    mqframe_cluster.create_topic("parcels", 1)
    schema = tmp_path / "parcel.avsc"
    fields = [{"name": "weight", "type": "double"}]
    schema.write_bytes(msgspec.json.encode({"type": "record", "name": "Parcel", "fields": fields}))
    file = tmp_path / "app.toml"
    file.write_text(
        f"""
        [client]
        nameserver = "{mqframe_cluster.nameserver}"
        [producer]
        group = "shop"
        codec = "avro"
        [consumer]
        group = "post"
        consume_from = "first"
        on_decode_error = "drop"
        codec = "avro"
        [plugins.avro]
        schema = "{schema}"
        """
    )
    got, came = [], threading.Event()
    consumer = PushConsumer.from_config(file)

    @consumer.on("parcels", type=Parcel)
    def handle(parcel: Parcel) -> None:
        got.append(parcel)
        came.set()

    with TransactionProducer.from_config(file) as producer, consumer:
        producer.send(Message("parcels", b"none"))
        made = producer.message("parcels", Parcel(1.5))
        assert made.body.startswith(b"\xc3\x01")
        assert made.properties == {"contentType": "application/avro", "dataschema": "Parcel"}
        with producer.transaction(made):
            pass
        assert came.wait(30)
    assert got == [Parcel(1.5)]


async def test_a_batch_listener_that_decodes_loses_the_one_message_that_is_none() -> None:
    async with Scene() as scene:
        got = []
        consumer = scene.make()

        @consumer.on("orders", batch_max=8)
        async def listen(messages: list[ReceivedMessage], context) -> ConsumeResult:
            orders = [message.decode(Order) for message in messages]
            got.extend(order.id for order in orders)
            return ConsumeResult.SUCCESS

        batch = [
            Message.of("orders", Order(1, [])),
            Message("orders", b"1"),
            Message.of("orders", Order(2, [])),
        ]
        await scene.finish(scene.producer.send_batch(batch))
        await scene.open(consumer)
        await scene.done_with(3)
        await scene.until(lambda: len(got) == 2)
        assert sorted(got) == [1, 2]
        (letter,) = await scene.dead()
        assert letter.message.body == b"1"
        assert letter.reason == "json: Expected `object`, got `int`"


async def test_other_errors_of_a_typed_handler_are_failures_as_ever() -> None:
    async with Scene() as scene:
        times = []
        consumer = scene.make()

        @consumer.on("orders", type=Order)
        async def handle(order: Order, message: ReceivedMessage) -> None:
            times.append(message.reconsume_times)
            if message.reconsume_times == 0:
                raise ValueError("not now")

        await scene.open(consumer)
        await scene.send(Message.of("orders", Order(1, [])))
        await scene.until(lambda: len(times) == 2)
        assert times == [0, 1]
        assert await scene.dead() == []


def test_both_faces_of_a_real_cluster(mqframe_cluster) -> None:
    mqframe_cluster.create_topic("parcels", 1)
    got, came = [], threading.Event()
    consumer = PushConsumer(GROUP, nameserver=mqframe_cluster.nameserver, consume_from="first", codec="json")

    @consumer.on("parcels", type=Parcel)
    def handle(parcel: Parcel) -> None:
        got.append(parcel)
        came.set()

    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer, consumer:
        producer.send(producer.message("parcels", Parcel(1.5)))
        assert came.wait(30)
    assert got == [Parcel(1.5)]


def test_the_error_names_the_place_and_nothing_of_the_body(mqframe_cluster) -> None:
    from mqframe import Puller

    mqframe_cluster.create_topic("parcels", 1)
    with Producer("shop", nameserver=mqframe_cluster.nameserver) as producer:
        sent = producer.send(Message("parcels", b'{"weight":"' + SECRET.encode() + b'"}'))
    with Puller(nameserver=mqframe_cluster.nameserver) as puller:
        (message,) = puller.pull(sent.queue, 0).messages
    with pytest.raises(DecodeError) as caught:
        message.decode(Parcel)
    assert str(caught.value) == (
        f"body of the message in parcels of broker {sent.queue.broker_name}, queue 0, offset 0:"
        " json: Expected `float`, got `str` at $.weight"
    )
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
