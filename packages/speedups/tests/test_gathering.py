"""What is submitted is packed, answered and refused the same, whoever gathers it."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mqframe_speedups import gathering
from mqframe_speedups._native import InFlight
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.scripted_broker import ScriptedBroker

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.sending.producer import AsyncProducer
from mqframe.client.settings import ClientSettings, ProducerSettings
from mqframe.core.errors import ClosedError, ConnectError, ConnectionLost, answer_error
from mqframe.core.messages.message import Message, MessageQueue, SendResult
from mqframe.core.requests.messages import SendBatchMessage, SendMessageV2
from mqframe.core.sending.in_flight import InFlightCount
from mqframe.core.sending.request_reply import ReplyMessage
from mqframe.core.wire.frame import Frame
from mqframe.hooks import client_parts
from mqframe.hooks.interfaces import SendHook

PARTS = {
    name: EntryPoint(name, f"mqframe_speedups.{where}", client_parts.GROUP)
    for name, where in (
        ("gatherer", "gathering:gatherer"),
        ("in_flight_count", "gathering:count"),
        ("elements", "elements:encode_usual"),
        ("unique_ids", "unique_ids:spell_ids"),
    )
}
REST = {name: offer for name, offer in client_parts.offered_parts().items() if name not in PARTS}
SMALL = ProducerSettings(batch_messages_max=4, batch_bytes_max=700, compress_over_bytes=300)
QUEUE = MessageQueue("t", "broker-a", 1)


@contextmanager
def compiled(is_on: bool) -> Iterator[None]:
    """With the parts of compiled code, or without any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client_parts, "offered_parts", lambda: {**REST, **PARTS} if is_on else REST)
        yield


class AnsweringBroker(ScriptedBroker):
    """Notes each send to the byte, and answers as it is told: all is well once nothing is left to say."""

    def __init__(self, clock: Any, topics: dict[str, int], answers: list[str]) -> None:
        super().__init__(clock, topics)
        self.answers = answers
        self.sent_bytes: list[tuple[Any, ...]] = []
        self.offset = 7

    async def invoke(self, address: str, request: Any, body: Any = b"", *, timeout: float = 3.0) -> Frame:
        if not isinstance(request, SendMessageV2 | SendBatchMessage):
            return await super().invoke(address, request, body, timeout=timeout)
        head = (type(request).__name__, request.topic, request.queue_id, request.flag, request.sys_flag)
        self.sent_bytes.append((*head, request.properties, bytes(body)))
        answer = self.answers.pop(0) if self.answers else "ok"
        if answer == "lost":
            raise ConnectionLost("gone")
        if answer == "away":
            raise ConnectError("away")
        if answer == "refused":
            raise answer_error(13, "no", address)
        ids = bytes(body).count(b"UNIQ_KEY") if request.batch else 1
        first, self.offset = self.offset, self.offset + ids
        told = {"queueId": str(request.queue_id), "queueOffset": str(first)}
        told["msgId"] = "A" if answer == "short" else ",".join(f"ID{first + n}" for n in range(ids))
        if answer == "places":
            told["batchPlaces"] = ",".join(f"0:{first + n * 2}" for n in range(ids))
        if answer == "misplaced":
            told["batchPlaces"] = "0:1"
        return Frame(0, ext=told)


@asynccontextmanager
async def staged(
    answers: list[str] | None = None, settings: ProducerSettings = SMALL, **options: Any
) -> AsyncIterator[tuple[AsyncProducer, AnsweringBroker, ManualClock]]:
    clock = ManualClock()
    broker = AnsweringBroker(clock, {"t": 3, "u": 1, "%RETRY%g": 1, "TBW102": 1}, list(answers or []))
    instance = ClientInstance(ClientSettings(nameserver=broker.nameserver), clock, broker)
    producer = AsyncProducer(
        "g", instance=instance, clock=clock, settings=settings, randomness=random.Random(1), **options
    )
    async with producer:
        yield producer, broker, clock


def shown(problem: BaseException) -> tuple[Any, ...]:
    return type(problem), str(problem), getattr(problem, "maybe_stored", None)


async def played(steps: list[Any], answers: list[str]) -> list[Any]:
    """All that can be seen of `steps`: messages, each with a queue or none; texts say what is done else."""
    seen: list[Any] = []
    async with staged(answers) as (producer, broker, clock):
        futures: list[Any] = []
        for step in steps:
            if step == "linger":
                await clock.aadvance(0.002)
            elif step == "cancel":
                seen.append(futures[-1].cancel() if futures else None)
            else:
                try:
                    futures.append(await producer.submit(step[0], queue=step[1]))
                except Exception as problem:
                    seen.append(shown(problem))
            seen.append([each.done() for each in futures])
        flushing = asyncio.ensure_future(producer.flush())
        while not flushing.done():
            await clock.aadvance(0.5)
        results = await asyncio.gather(*futures, return_exceptions=True)
        seen += [shown(each) if isinstance(each, BaseException) else each for each in results]
        count = producer._waiting.count
        seen.append((broker.sent_bytes, count.count, count.bytes, str(count)))
    return seen


def both(steps: list[Any], answers: list[str]) -> tuple[list[Any], list[Any]]:
    found = []
    for is_on in (True, False):
        with compiled(is_on):
            found.append(asyncio.run(played(steps, answers)))
    return found[0], found[1]


class SubMessage(Message):
    """One of an application's own."""


WORDS = st.text(max_size=4) | st.sampled_from(
    ["KEYS", "a||b", "a b", "a\x01b", "c\x02", "\u00e9\u4e2d", "\ud800"]
)
USUAL = st.builds(
    Message,
    st.just("t"),
    st.binary(min_size=1, max_size=40),
    tag=st.none() | st.sampled_from(["T", "", "\u00e9"]),
    keys=st.sampled_from([(), ["k"], ("k", "\u4e2d"), []]),
    properties=st.sampled_from([{}, {"a": "b"}, {"a": "\u00e9", "b": "c" * 50}]),
    flag=st.integers(-3, 3),
)
ODD = st.builds(
    Message,
    st.sampled_from(["t", "u", "bad topic", "%RETRY%g", "TBW102", 1]),
    st.binary(max_size=5)
    | st.sampled_from([b"x" * 299, b"x" * 300, b"x" * 650, "text", bytearray(b"x"), None]),
    tag=st.none() | WORDS | st.just(1),
    keys=st.lists(WORDS, max_size=2) | st.sampled_from(["", "k", 1, None, {"k"}]),
    properties=st.dictionaries(WORDS, WORDS, max_size=2) | st.sampled_from([{1: "a"}, {"a": 1}, [], None]),
    flag=st.integers(-(2**31) - 1, 2**31) | st.sampled_from([True, None, 1.5]),
    wait_store_ok=st.booleans() | st.just(1),
)
OTHER = st.sampled_from([SubMessage("t", b"s"), ReplyMessage("t", b"r", correlation_id="1"), None])
STEPS = st.lists(
    st.tuples(USUAL, st.none())
    | st.tuples(USUAL | ODD | OTHER, st.sampled_from([None, None, QUEUE]))
    | st.sampled_from(["linger", "cancel"]),
    max_size=14,
)
ANSWERS = st.lists(
    st.sampled_from(["ok", "lost", "away", "refused", "short", "places", "misplaced"]), max_size=5
)
PLAIN = (Message("t", b"body", tag="T"), None)


@settings(deadline=None, max_examples=60)
@given(STEPS, ANSWERS)
@example([PLAIN] * 9, [])
@example([PLAIN, PLAIN, (Message("t", b"b"), QUEUE), PLAIN], ["lost"])
@example([PLAIN] * 3, ["places"])
@example([PLAIN] * 3, ["misplaced"])
@example([PLAIN] * 3, ["short"])
@example([PLAIN, PLAIN, "cancel", PLAIN], [])
@example([PLAIN, (Message("t", b"x", properties={"a": "b" * 32_690}), None)], [])
@example([PLAIN, (Message("t", b"x", "T" * 32_740), None)], [])
def test_all_that_can_be_submitted(steps: list[Any], answers: list[str]) -> None:
    natively, by_python = both(steps, answers)
    assert natively == by_python


@pytest.fixture
def _compiled() -> Iterator[None]:
    with compiled(True):
        yield


pytestmark = pytest.mark.usefixtures("_compiled")


async def test_what_is_usual_is_taken_by_compiled_code() -> None:
    async with staged() as (producer, _broker, _clock):
        futures = [await producer.submit(PLAIN[0]) for _ in range(6)]
        kinds = [type(each).__name__ for each in futures]
        assert kinds == ["Future", "LoopPromise", "LoopPromise", "Future", "Future", "LoopPromise"]
        assert all(isinstance(each, asyncio.Future) and asyncio.isfuture(each) for each in futures)


async def test_hooks_of_any_kind_leave_all_to_python() -> None:
    async with staged(send_hooks=[type("Watching", (SendHook,), {})()]) as (producer, _broker, _clock):
        assert producer._submitter.gatherer is None


async def test_limits_count_what_is_taken_and_those_who_wait_go_first() -> None:
    limited = ProducerSettings(waiting_bytes_max=10)
    async with staged(settings=limited) as (producer, _broker, clock):
        first = [await producer.submit(Message("t", b"1234")) for _ in range(2)]
        waits = asyncio.ensure_future(producer.submit(Message("t", b"12345")))
        await asyncio.sleep(0)
        later = asyncio.ensure_future(producer.submit(Message("t", b"1")))  # it would fit, but another waits
        await asyncio.sleep(0)
        assert (waits.done(), later.done(), producer._waiting.count.bytes) == (False, False, 8)
        await clock.aadvance(0.002)
        await producer.flush()
        results = [await each for each in (*first, await waits, await later)]
        assert [each.queue_offset for each in results] == [7, 8, 9, 10]


def test_messages_have_their_fields_in_the_order_in_which_compiled_code_takes_them() -> None:
    order = ("topic", "body", "tag", "keys", "properties", "flag", "wait_store_ok")
    assert Message.__struct_fields__ == order


@pytest.mark.parametrize("set_by_hand", [False, True])
async def test_a_step_of_a_wait_ends_with_the_result_whatever_it_is(set_by_hand: bool) -> None:
    async with staged() as (producer, _broker, _clock):
        _first, promise = [await producer.submit(PLAIN[0]) for _ in range(2)]
        waiting: Any = iter(promise)
        assert next(waiting) is promise
        if set_by_hand:
            promise.set_result(("a", "tuple"))  # an exception would take it for its arguments
        else:
            await producer.flush()
        with pytest.raises(StopIteration) as ended:
            next(waiting)
        assert ended.value.value is await promise
        assert isinstance(ended.value.value, tuple if set_by_hand else SendResult)


async def test_what_awaits_a_promise_is_woken_cancelled_and_told_as_by_a_future() -> None:
    async with staged() as (producer, broker, clock):
        _, one, two = [await producer.submit(PLAIN[0]) for _ in range(3)]

        async def wait(what: Any) -> Any:
            return await what

        order: list[Any] = []
        one.add_done_callback(lambda done: order.append((1, done)))
        one.add_done_callback(order.append)
        assert one.remove_done_callback(order.append) == 1
        waiting, given_up = asyncio.ensure_future(wait(one)), asyncio.ensure_future(wait(two))
        await asyncio.sleep(0)
        with pytest.raises(asyncio.InvalidStateError):
            one.result()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert (two.cancelled(), two.done(), one.done()) == (True, True, False)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(one), 0)
        await clock.aadvance(0.002)
        result = await asyncio.wait_for(one, 5)
        assert await waiting is result is one.result() is await one
        assert (one.exception(), one.cancel(), one.cancelled()) == (None, False, False)
        assert order == [(1, one)]
        one.add_done_callback(lambda done: order.append((2, done)))
        await asyncio.sleep(0)
        assert order == [(1, one), (2, one)]
        assert len(broker.sent_bytes) == 1


async def test_promises_stand_in_every_function_of_asyncio() -> None:
    async with staged() as (producer, _broker, clock):
        futures = [await producer.submit(PLAIN[0]) for _ in range(3)]
        together = asyncio.gather(*futures)
        some = asyncio.ensure_future(asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED))
        one_by_one = asyncio.as_completed(futures)
        await asyncio.sleep(0)
        await clock.aadvance(0.002)
        assert [each.queue_offset for each in await together] == [7, 8, 9]
        done, _pending = await some
        assert done == set(futures)
        assert {(await each).queue_offset for each in one_by_one} == {7, 8, 9}
        assert futures[1].get_loop() is asyncio.get_running_loop()
        assert "finished" in repr(futures[1])
        with pytest.raises(AttributeError, match="nothing"):
            _ = futures[1].nothing


async def test_what_is_submitted_to_a_producer_that_stops_is_refused() -> None:
    async with staged() as (producer, broker, _clock):
        first = await producer.submit(PLAIN[0])
        second = await producer.submit(PLAIN[0])
        stopping = asyncio.ensure_future(producer.stop())
        await asyncio.sleep(0)
        with pytest.raises(ClosedError):
            await producer.submit(PLAIN[0])
        await stopping
        assert [(await each).queue_offset for each in (first, second)] == [7, 8]
        assert len(broker.sent_bytes) == 1


async def test_circles_through_promises_are_collected() -> None:
    class Held:
        """Whatever waits for a promise."""

    async def leave_one() -> weakref.ref[Held]:
        async with staged() as (producer, _broker, _clock):
            held: Any = Held()
            _, held.promise = [await producer.submit(PLAIN[0]) for _ in range(2)]
            held.promise.add_done_callback(lambda _, held=held: None)
            held.other = asyncio.gather(held.promise, return_exceptions=True)
            await producer.flush()
            await held.other
        return weakref.ref(held)

    left = await asyncio.ensure_future(leave_one())
    gc.collect()
    assert left() is None


async def test_a_promise_outlives_its_producer() -> None:
    async with staged() as (producer, _broker, _clock):
        _, promise = [await producer.submit(PLAIN[0]) for _ in range(2)]
    del producer
    gc.collect()
    assert promise.result().queue_offset == 8
    assert promise.done()


def test_counts_are_as_python_s() -> None:
    native, usual = gathering.count(2, 100), InFlightCount(2, 100)
    assert isinstance(native, InFlight)
    for count in (native, usual):
        assert [count.acquire(60), count.acquire(41), count.acquire(40), count.acquire(0)] == [1, 0, 1, 0]
        assert str(count) == "2 of 2 messages, 100 of 100 bytes"
        count.release(100, 2)
        assert (count.count, count.bytes, count.acquire(500), count.acquire(1)) == (0, 0, True, False)
        count.release(500)
    assert isinstance(gathering.count(2**70, 1), InFlightCount)


def test_the_environment_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQFRAME_SPEEDUPS", "0")
    assert isinstance(gathering.count(2, 100), InFlightCount)
