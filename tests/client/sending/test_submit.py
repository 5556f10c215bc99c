"""Submitted messages: packed by queue, in order, one batch under way, results to each (scripted remoting)."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.errors import (
    AnswerError,
    ClosedError,
    ConnectError,
    ConnectionLost,
    MessageError,
    TooMuchInFlight,
    answer_error,
)
from mqframe.core.messages.batch import decode_batch
from mqframe.core.messages.message import Message, MessageQueue
from mqframe.core.messages.properties import decode_properties
from mqframe.core.requests.messages import SendBatchMessage, SendMessageV2
from mqframe.core.wire.frame import Frame
from mqframe.hooks.interfaces import Forbidden, ForbiddenHook, SendHook


class StoringBroker(ScriptedBroker):
    """Keeps what is sent, queue by queue; `gate` holds answers back."""

    def __init__(self, clock, topics):
        super().__init__(clock, topics)
        self.stored = {}
        self.requests_of_queue = {}
        self.under_way = 0
        self.under_way_most = {}
        self.gate = None

    async def invoke(self, address, request, body=b"", *, timeout=3.0):
        if not isinstance(request, SendMessageV2 | SendBatchMessage) or self._scripts[request.CODE]:
            return await super().invoke(address, request, body, timeout=timeout)
        self.requests.append(request)
        queue = request.queue_id
        log = self.stored.setdefault(queue, [])
        first = len(log)
        if request.batch:
            for _flag, part, text in decode_batch(body):
                log.append((bytes(part), decode_properties(str(text, "utf-8"))["UNIQ_KEY"]))
        else:
            log.append((bytes(body), decode_properties(request.properties)["UNIQ_KEY"]))
        count = len(log) - first
        self.requests_of_queue.setdefault(queue, []).append(count)
        self.under_way += 1
        if self.gate is not None:
            await self.gate.wait()
        self.under_way -= 1
        ids = ",".join(f"OFF{first + n}" for n in range(count))
        return Frame(0, ext={"msgId": ids, "queueId": str(queue), "queueOffset": str(first)})


@asynccontextmanager
async def staged(*, queues=4, settings=None, **options):
    """Run `play(producer, broker, clock)` with a producer over a scripted broker."""
    clock = ManualClock()
    broker = StoringBroker(clock, {"t": queues})
    instance = ClientInstance(ClientSettings(nameserver=broker.nameserver), clock, broker)
    producer = AsyncProducer(
        "g", instance=instance, clock=clock, settings=settings or ProducerSettings(), **options
    )
    async with producer:
        yield (producer, broker, clock)


def bodies(count):
    return [b"%d" % number for number in range(count)]


async def test_messages_wait_for_others_until_the_linger_time():
    async with staged() as (producer, broker, clock):
        futures = [await producer.submit(Message("t", body)) for body in bodies(3)]
        await asyncio.sleep(0)
        assert broker.stored == {}
        await clock.aadvance(0.002)
        results = [await future for future in futures]
        ((queue, log),) = broker.stored.items()
        assert [body for body, _ in log] == bodies(3)
        assert [result.message_id for result in results] == [key for _, key in log]
        assert [result.queue_offset for result in results] == [0, 1, 2]
        assert [result.offset_message_id for result in results] == ["OFF0", "OFF1", "OFF2"]
        assert {result.queue for result in results} == {broker.queue("t", queue)}
        (request,) = broker.sent(SendBatchMessage)
        assert (request.batch, request.properties) == (True, "WAIT\x01true\x02")


async def test_one_message_goes_as_a_plain_send():
    async with staged() as (producer, broker, _clock):
        future = await producer.submit(Message("t", b"x"))
        await producer.flush()
        assert (await future).queue_offset == 0
        assert len(broker.sent(SendMessageV2)) == 1
        assert broker.sent(SendBatchMessage) == []


async def test_full_batches_go_round_the_queues():
    async with staged(settings=ProducerSettings(batch_messages_max=3)) as (producer, broker, _clock):
        for body in bodies(12):
            await producer.submit(Message("t", body))
        await producer.flush()
        assert sorted(broker.requests_of_queue) == [0, 1, 2, 3]
        assert all(counts == [3] for counts in broker.requests_of_queue.values())


async def test_a_queue_keeps_order_with_one_batch_under_way():
    async with staged(settings=ProducerSettings(batch_messages_max=3)) as (producer, broker, _clock):
        broker.gate = asyncio.Event()
        queue = MessageQueue("t", "broker-a", 2)
        futures = [await producer.submit(Message("t", body), queue=queue) for body in bodies(10)]
        for _ in range(5):
            await asyncio.sleep(0)
        assert broker.under_way == 1
        assert broker.requests_of_queue == {2: [3]}
        broker.gate.set()
        await producer.flush()
        assert [body for body, _ in broker.stored[2]] == bodies(10)
        assert [future.result().queue_offset for future in futures] == list(range(10))


async def test_large_and_unusual_messages_go_alone_in_their_place():
    async with staged() as (producer, broker, _clock):
        queue = MessageQueue("t", "broker-a", 0)
        large = b"z" * 5000
        for message in (
            Message("t", b"a"),
            Message("t", b"b"),
            Message("t", large),
            Message("t", b"c"),
            Message("t", b"d", wait_store_ok=False),
            Message("t", b"e"),
        ):
            await producer.submit(message, queue=queue)
        await producer.flush()
        assert broker.requests_of_queue == {0: [2, 1, 1, 1, 1]}
        assert [len(body) for body, _ in broker.stored[0]][:2] == [1, 1]
        compressed = broker.sent(SendMessageV2)[0]
        assert compressed.sys_flag == 0x301
        assert [body for body, _ in broker.stored[0]][3:] == [b"c", b"d", b"e"]


async def test_what_is_to_come_later_goes_alone_in_its_place_and_can_be_recalled():
    async with staged() as (producer, broker, clock):
        queue = MessageQueue("t", "broker-a", 0)
        at = clock.now_ms() + 60_000
        options = ({}, {"delay": 1.5}, {}, {"deliver_at": at}, {"delay_level": 3}, {})
        futures = [
            await producer.submit(Message("t", b"%d" % n, properties={"a": "b"}), queue=queue, **each)
            for n, each in enumerate(options)
        ]
        await producer.flush()
        assert [body for body, _ in broker.stored[0]] == bodies(6)
        assert [future.result().queue_offset for future in futures] == list(range(6))
        assert broker.requests_of_queue == {0: [1] * 6}
        sent = [decode_properties(request.properties) for request in broker.sent(SendMessageV2)]
        asked = [{name: each[name] for name in each if name not in ("UNIQ_KEY", "WAIT")} for each in sent]
        assert asked == [
            {"a": "b"},
            {"a": "b", "TIMER_DELAY_MS": "1500"},
            {"a": "b"},
            {"a": "b", "TIMER_DELIVER_MS": str(at)},
            {"a": "b", "DELAY": "3"},
            {"a": "b"},
        ]
        for wrong in ({"delay": -1}, {"delay": 1, "delay_level": 2}):
            with pytest.raises(MessageError):
                await producer.submit(Message("t", b"x"), **wrong)


async def test_messages_of_one_sharding_key_keep_their_order_whatever_comes_later():
    async with staged() as (producer, broker, _clock):
        for n, body in enumerate(bodies(6)):
            await producer.submit(Message("t", body), sharding_key="k", delay_level=1 if n % 3 == 1 else None)
        await producer.flush()
        ((_, log),) = broker.stored.items()
        assert [body for body, _ in log] == bodies(6)


async def test_hooks_see_what_is_asked_of_the_broker_with_a_submitted_message():
    seen, ends = [], []

    class Seeing(SendHook):
        def prepare(self, operation):
            seen.append(dict(operation.messages[0].properties))

        def finish(self, operation):
            ends.append((operation.mode, operation.error))

    async with staged(send_hooks=[Seeing()]) as (producer, _broker, _clock):
        await producer.submit(Message("t", b"x"), delay_level=2)
        await producer.flush()
        with pytest.raises(MessageError) as refused:
            await producer.submit(Message("t", b"x", properties={"a": "x" * 32_760}), delay_level=2)
    assert [each["DELAY"] for each in seen] == ["2", "2"]
    assert ends == [("async", None), ("async", refused.value)]


async def test_bytes_bound_a_batch():
    async with staged(settings=ProducerSettings(batch_bytes_max=1200)) as (producer, broker, _clock):
        for _ in range(6):
            await producer.submit(Message("t", b"x" * 400))
        await producer.flush()
        assert sum(map(sum, broker.requests_of_queue.values())) == 6
        assert all(count <= 2 for counts in broker.requests_of_queue.values() for count in counts)


async def test_limits_hold_submit_back_and_let_it_go_on():
    async with staged(settings=ProducerSettings(waiting_messages_max=4, batch_messages_max=2)) as (
        producer,
        broker,
        _clock,
    ):
        broker.gate = asyncio.Event()
        for body in bodies(4):
            await producer.submit(Message("t", body))
        fifth = asyncio.ensure_future(producer.submit(Message("t", b"4")))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not fifth.done()
        broker.gate.set()
        future = await fifth
        await producer.flush()
        assert future.result().queue_offset >= 0


async def test_no_room_in_time_says_so():
    async with staged(settings=ProducerSettings(waiting_bytes_max=15, submit_wait_seconds=1.0)) as (
        producer,
        broker,
        clock,
    ):
        broker.gate = asyncio.Event()
        await producer.submit(Message("t", b"x" * 10))
        waiting = asyncio.ensure_future(producer.submit(Message("t", b"x" * 10)))
        await asyncio.sleep(0)
        await clock.aadvance(1.5)
        with pytest.raises(TooMuchInFlight, match="nothing was sent"):
            await waiting
        broker.gate.set()


async def test_free_messages_are_tried_again_and_bound_ones_are_not():
    async with staged(queues=1) as (producer, broker, _clock):
        queue = MessageQueue("t", "broker-a", 0)
        broker.script(SendBatchMessage, ConnectionLost("gone"))
        bound = await producer.submit(Message("t", b"bound"), queue=queue)
        free = await producer.submit(Message("t", b"free"))
        more = await producer.submit(Message("t", b"more"))
        await producer.flush()
        with pytest.raises(ConnectionLost, match="may or may not be stored"):
            await bound
        assert (await free).queue == (await more).queue == queue
        assert [body for body, _ in broker.stored[0]] == [b"free", b"more"]


async def test_an_answer_is_final_for_all_of_the_batch():
    async with staged() as (producer, broker, _clock):
        broker.script(SendBatchMessage, AnswerError(1, "full", broker.address))
        futures = [await producer.submit(Message("t", body)) for body in bodies(2)]
        await producer.flush()
        for future in futures:
            with pytest.raises(AnswerError, match="full"):
                await future


async def test_a_failed_batch_does_not_stop_the_next_one():
    async with staged() as (producer, broker, _clock):
        queue = MessageQueue("t", "broker-a", 0)
        broker.script(SendMessageV2, ConnectionLost("x"))
        first = await producer.submit(Message("t", b"a"), queue=queue)
        await producer.flush()
        second = await producer.submit(Message("t", b"b"), queue=queue)
        await producer.flush()
        assert isinstance(first.exception(), ConnectionLost)
        assert second.result().queue_offset == 0


async def test_a_queue_waits_for_its_broker_and_keeps_its_order():
    async with staged(settings=ProducerSettings(batch_messages_max=3)) as (producer, broker, clock):
        queue = MessageQueue("t", "broker-a", 0)
        away = [
            ConnectError("x"),
            answer_error(2, "busy", "a"),
            ConnectError("x"),
            answer_error(14, "no", "a"),
        ]
        broker.script(SendBatchMessage, *away)
        futures = [await producer.submit(Message("t", body), queue=queue) for body in bodies(7)]
        began = clock.monotonic()
        await clock.aadvance(2.9)
        assert [(await future).queue_offset for future in futures] == list(range(7))
        assert [body for body, _ in broker.stored[0]] == bodies(7)
        assert clock.monotonic() - began < 3


async def test_of_a_mixed_batch_what_is_free_goes_elsewhere_and_the_rest_waits():
    async with staged(queues=1) as (producer, broker, clock):
        broker.script(SendBatchMessage, ConnectError("x"))
        broker.script(SendMessageV2, ConnectError("x"), ConnectError("x"), ConnectError("x"))
        bound = await producer.submit(Message("t", b"bound"), queue=broker.queue("t", 0))
        free = await producer.submit(Message("t", b"free"))
        more = await producer.submit(Message("t", b"more"))
        await clock.aadvance(0.003)
        assert not bound.done()
        assert [(await free).queue_offset, (await more).queue_offset] == [0, 1]
        await clock.aadvance(1)
        assert (await bound).queue_offset == 2
        assert [body for body, _ in broker.stored[0]] == [b"free", b"more", b"bound"]


class Watch(SendHook):
    def __init__(self):
        self.seen = []

    def before(self, context):
        self.seen.append(("before", [m.body for m in context.messages], context.mode))

    def after(self, context):
        self.seen.append(
            ("after", context.result.message_id == context.message_ids[0], context.result.queue_offset)
        )


async def test_hooks_see_each_message_by_itself():
    watch = Watch()

    async with staged(send_hooks=(watch,)) as (producer, _broker, _clock):
        for body in bodies(2):
            await producer.submit(Message("t", body))
        await producer.flush()
    assert watch.seen == [
        ("before", [b"0"], "async"),
        ("before", [b"1"], "async"),
        ("after", True, 0),
        ("after", True, 1),
    ]


class Guard(ForbiddenHook):
    def check(self, context):
        if context.message.body == b"1":
            raise Forbidden("not this one")


class Preparing(SendHook):
    """Numbers messages, and notes what their tries and their ends have of it."""

    def __init__(self):
        self.tries = []
        self.ends = []
        self.count = 0

    def prepare(self, operation):
        operation.extras["number"] = self.count
        operation.set_property("number", str(self.count))
        self.count += 1

    def before(self, context):
        self.tries.append((context.extras["number"], context.messages[0].properties["number"]))

    def finish(self, operation):
        self.ends.append((operation.extras["number"], operation.result, operation.error))


async def test_what_was_prepared_stays_with_its_message_when_some_are_tried_again():
    hook = Preparing()

    async with staged(queues=1, send_hooks=[hook]) as (producer, broker, _clock):
        queue = broker.queue("t", 0)
        broker.script(SendBatchMessage, ConnectionLost("gone"))
        bound = await producer.submit(Message("t", b"bound"), queue=queue)
        free = await producer.submit(Message("t", b"free"))
        more = await producer.submit(Message("t", b"more"))
        await producer.flush()
        error = bound.exception()
        assert hook.tries == [(0, "0"), (1, "1"), (2, "2"), (1, "1"), (2, "2")]
        assert hook.ends == [(0, None, error), (1, await free, None), (2, await more, None)]


async def test_who_waits_no_more_does_not_keep_a_hook_from_the_end():
    hook = Preparing()

    async with staged(queues=1, send_hooks=[hook]) as (producer, broker, _clock):
        given_up = await producer.submit(Message("t", b"given up"))
        given_up.cancel()
        await producer.flush()
        [(number, result, error)] = hook.ends
        assert (number, error, broker.stored[0]) == (0, None, [(b"given up", result.message_id)])


async def test_a_forbidden_message_leaves_the_others_alone():
    async with staged(forbidden_hooks=(Guard(),)) as (producer, broker, _clock):
        futures = [await producer.submit(Message("t", body)) for body in bodies(3)]
        await producer.flush()
        assert [future.exception() is None for future in futures] == [True, False, True]
        ((_, log),) = broker.stored.items()
        assert [body for body, _ in log] == [b"0", b"2"]


async def test_bad_messages_are_refused_at_once():
    async with staged() as (producer, broker, _clock):
        for bad in (
            Message("t", b""),
            Message("t", b"x", properties={"a": "x" * 33000}),
            Message("a b", b"x"),
        ):
            with pytest.raises(MessageError):
                await producer.submit(bad)
        with pytest.raises(MessageError, match="not of topic"):
            await producer.submit(Message("t", b"x"), queue=MessageQueue("u", "broker-a", 0))
        await producer.flush()
        assert broker.stored == {}


async def test_stop_sends_what_waits():
    stored = {}

    async with staged() as (producer, broker, _clock):
        stored["broker"] = broker
        stored["future"] = await producer.submit(Message("t", b"last"))
    assert stored["future"].result().queue_offset == 0
    assert next(iter(stored["broker"].stored.values()))[0][0] == b"last"


async def test_messages_that_may_be_stored_say_so_when_what_was_free_is_refused_elsewhere():
    async with staged(queues=1) as (producer, broker, clock):
        broker.script(SendBatchMessage, ConnectionLost("gone"))
        broker.script(SendMessageV2, *[ConnectError("refused; nothing was sent")] * 50)
        free = await producer.submit(Message("t", b"free"))
        bound = await producer.submit(Message("t", b"bound"), queue=broker.queue("t", 0))
        await clock.aadvance(3.1)
        for future in (free, bound):
            with pytest.raises(ConnectionLost, match="gone; the message may or may not be stored") as caught:
                await future
            assert caught.value.maybe_stored
            assert "nothing was sent" not in str(caught.value)


async def test_what_is_submitted_while_the_producer_stops_is_refused():
    async with staged() as (producer, broker, _clock):
        broker.gate = asyncio.Event()
        first = await producer.submit(Message("t", b"first"))
        stopping = asyncio.ensure_future(producer.stop())
        while not broker.under_way:
            await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(ClosedError, match="was not sent"):
                await producer.submit(Message("t", b"late"))
        broker.gate.set()
        await stopping
        assert (await first).queue_offset == 0
        assert [body for log in broker.stored.values() for body, _ in log] == [b"first"]
        assert producer._waiting.count.count == 0


async def test_a_batch_that_is_cancelled_before_it_began_tells_those_who_wait():
    async with staged() as (producer, _broker, _clock):
        future = await producer.submit(Message("t", b"x"))
        producer._submitter._accumulator.close_open()
        producer._submitter._pump()
        [task] = producer._submitter._tasks
        task.cancel()
        with pytest.raises(ClosedError, match="was not sent") as caught:
            await future
        assert not caught.value.maybe_stored
        producer._submitter._accumulator.__init__(1, 1, 1)  # its queue stays busy; there is nothing to flush


async def test_a_batch_that_is_cancelled_under_way_may_be_stored():
    async with staged() as (producer, broker, clock):
        broker.gate = asyncio.Event()
        future = await producer.submit(Message("t", b"x"))
        await clock.aadvance(0.002)
        [task] = producer._submitter._tasks
        task.cancel()
        with pytest.raises(ClosedError, match="may or may not be stored") as caught:
            await future
        assert caught.value.maybe_stored
        broker.gate.set()
