"""What threads hand over stays in order, and promises of threads are futures to all who look."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_speedups._native import Gathered, Gatherer, Inbox, InFlight
from msgspec.structs import astuple

from mqframe.client.sending.result_futures import Item, Items, ThreadResults
from mqframe.core.errors import ConnectionLost
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.core.messages.properties import RESERVED
from mqframe.core.sending.answer import split_send_result

QUEUE = MessageQueue("t", "b", 0)
STORED = SendResult(SendStatus.SEND_OK, "all", QUEUE, 5, "A,B,C", None, "here", False)


class Known:
    """A route that has queues."""

    @staticmethod
    def write_queues() -> tuple[MessageQueue, ...]:
        return (QUEUE,)


def made(messages_max: int = 3, bytes_max: int = 1000, count_max: int = 50) -> tuple[Gatherer, ThreadResults]:
    results = ThreadResults()
    in_flight = InFlight(count_max, 10**6)
    routes = {topic: Known() for topic in ("t", "u", "%RETRY%g")}
    gatherer = Gatherer(
        {}, routes.get, in_flight, (), results.new, split_send_result, Message, astuple, Item, RESERVED,
        500, messages_max, bytes_max,
    )  # fmt: skip
    return gatherer, results


def item(message: Message, queue: MessageQueue | None = None) -> Item:
    return Item(message, ThreadResults().new(), len(message.body) + 102, queue)


def admitting(gatherer: Gatherer, *topics: str) -> Inbox:
    inbox = gatherer.inbox()
    for topic in topics:
        inbox.append(item(Message(topic, b"x")))
        inbox.popleft()
    return inbox


def emptied(inbox: Inbox) -> list[list[bytes]]:
    found = []
    while inbox:
        handed = inbox.popleft()
        each = [handed] if isinstance(handed, Item) else list(handed)
        found.append([one.message.body for one in each])
    return found


STEPS = st.lists(
    st.tuples(st.sampled_from(["t", "u", "%RETRY%g"]), st.integers(1, 400), st.booleans()), max_size=20
)


@given(STEPS, st.integers(1, 4))
def test_all_come_out_in_the_order_in_which_they_came_and_no_more_at_once_than_may(
    steps: list[tuple[str, int, bool]], messages_max: int
) -> None:
    gatherer, _ = made(messages_max)
    inbox = admitting(gatherer, "t", "%RETRY%g")
    came = []
    for number, (topic, size, is_odd) in enumerate(steps):
        message = Message(topic, b"%d-" % number + b"x" * size)
        came.append(message.body)
        if is_odd or inbox.take(message) is None:
            inbox.append(item(message))
    found = emptied(inbox)
    assert [body for each in found for body in each] == came
    assert all(len(each) <= messages_max for each in found)
    assert all(sum(len(body) + 102 for body in each) <= 1000 for each in found if len(each) > 1)


def test_python_hands_over_the_first_message_to_a_topic_and_what_is_odd() -> None:
    gatherer, _ = made()
    inbox = gatherer.inbox()
    usual = Message("t", b"a")
    assert inbox.take(usual) is None
    inbox.append(item(usual))
    assert inbox.take(usual) is not None
    for odd in (
        Message("x", b"a"),
        Message("t", b""),
        Message("t", b"x" * 500),
        Message("t", b"a", keys="k"),
    ):
        inbox.append(item(odd))
        assert inbox.take(odd) is None
    inbox.append(item(Message("%RETRY%g", b"a")))
    assert inbox.take(Message("%RETRY%g", b"a")) is None
    with pytest.raises(IndexError):
        admitting(gatherer).popleft()


def test_what_was_taken_out_gets_no_more_and_limits_hold() -> None:
    gatherer, _ = made(count_max=2)
    inbox = admitting(gatherer, "t")
    assert inbox.take(Message("t", b"a"))
    first = inbox.popleft()
    assert inbox.take(Message("t", b"b"))
    assert inbox.take(Message("t", b"c")) is None
    assert (first.closed, len(first), emptied(inbox)) == (True, 1, [[b"b"]])


def test_what_joins_a_batch_finds_its_result_there() -> None:
    gatherer, results = made()
    inbox = admitting(gatherer, "t")
    promises: list[Any] = []
    batch = gatherer.batch(QUEUE, 0.0)
    for body in (b"a", b"b"):
        promises.append(inbox.take(Message("t", body, tag=body.decode(), keys=["k"])))
        batch.append(inbox.popleft())
    last = item(Message("t", b"c"))
    batch.append(last)
    ids = ["I1", "I2", "I3"]
    expected = split_send_result(STORED, ids)
    encoded = batch.messages().encoded(ids)
    assert encoded is not None
    assert encoded.count(b"UNIQ_KEY\x01I2\x02TAGS\x01b\x02KEYS\x01k\x02") == 1
    assert (len(batch), batch.body_bytes(), batch.bound()) == (3, 3, 0)
    assert [promise.done() for promise in promises] == [False] * 2
    results.resolve(batch, STORED, ids)  # type: ignore[arg-type]  # it does the same
    assert [each.result() for each in (*promises, last.future)] == expected
    assert promises[0].result() is promises[0].result(1)
    assert promises[0].exception() is None


def settled_of(count: int) -> tuple[list[Any], Gathered, ThreadResults]:
    gatherer, results = made()
    inbox = admitting(gatherer, "t")
    promises = [inbox.take(Message("t", b"%d" % number)) for number in range(count)]
    return promises, inbox.popleft(), results


@pytest.mark.parametrize("is_failed", [False, True])
def test_promises_stand_in_every_function_of_concurrent_futures(is_failed: bool) -> None:
    promises, gathered, results = settled_of(3)
    with pytest.raises(concurrent.futures.TimeoutError):
        promises[0].result(0)
    called: list[Any] = []
    promises[1].add_done_callback(called.append)
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        waiting = threads.submit(concurrent.futures.wait, promises)
        in_turn = threads.submit(lambda: set(concurrent.futures.as_completed(promises)))
        one = threads.submit(promises[2].exception)
        if is_failed:
            problem = ConnectionLost("gone")
            results.fail(gathered, problem)  # type: ignore[arg-type]  # items are made of it
        else:
            results.resolve(gathered, STORED, ["1", "2", "3"])  # type: ignore[arg-type]
        assert waiting.result() == (set(promises), set())
        assert in_turn.result() == set(promises)
        assert one.result() is (problem if is_failed else None)
    assert called == [promises[1]]
    assert (promises[0].done(), promises[0].cancel(), promises[0].cancelled()) == (True, False, False)
    if is_failed:
        with pytest.raises(ConnectionLost, match="gone"):
            promises[0].result()
    assert results.failed == 3 * is_failed
    promises[1].add_done_callback(called.append)
    assert called == [promises[1]] * 2


async def test_a_loop_waits_for_a_promise_of_threads() -> None:
    promises, gathered, results = settled_of(3)
    assert all(isinstance(each, concurrent.futures.Future) for each in promises)
    wrapped = asyncio.wrap_future(promises[0])
    results.resolve(gathered, STORED, ["1", "2", "3"])  # type: ignore[arg-type]
    assert (await wrapped).queue_offset == 5
    assert "finished" in repr(promises[1])


def test_a_batch_is_a_sequence_of_items() -> None:
    promises, gathered, _ = settled_of(2)
    assert [each.future for each in Items(gathered)] == promises  # type: ignore[call-overload]
    assert (gathered[-1].message.body, gathered.messages()[0].body, gathered.count) == (b"1", b"0", 2)
    assert (gathered.message.body, gathered.size, gathered.queue) == (b"0", 206, None)
    for at in (2, -3):
        with pytest.raises(IndexError):
            gathered[at]
        with pytest.raises(IndexError):
            gathered.messages()[at]
    assert gathered.messages().encoded(["1"]) is None
    gathered.append(item(Message("t", b"bound"), QUEUE))
    assert gathered.messages().encoded(["1", "2", "3"]) is None
    assert (gathered.bound(), gathered.body_bytes(), len(gathered.messages())) == (1, 7, 3)
