import asyncio
import concurrent.futures
import threading

import msgspec
import pytest

from mqframe.client.sending.result_futures import Item, Items, LoopResults, ThreadResults, operations_of
from mqframe.core.errors import ConnectionLost
from mqframe.core.messages.message import Message, MessageQueue, SendResult, SendStatus
from mqframe.hooks.interfaces import SendHook, SendOperation

RESULT = SendResult(SendStatus.SEND_OK, "ID", MessageQueue("t", "b", 0), 1)


def item(future):
    return Item(Message("t", b"x"), future, 1, None)


def resolve(results, *items):
    results.resolve(Items(items), RESULT, ["ID"] * len(items))


def test_a_result_reaches_a_thread_that_waits():
    results = ThreadResults()
    future, other = results.new(), results.new()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(future.result(120)))
    thread.start()
    resolve(results, item(other))
    resolve(results, item(future))
    thread.join()
    assert seen == [RESULT]
    assert future.done()
    assert not future.cancelled()
    assert future.exception() is None


def test_an_error_is_raised():
    results = ThreadResults()
    future = results.new()
    results.fail([item(future)], ConnectionLost("gone"))
    with pytest.raises(ConnectionLost, match="gone"):
        future.result()


class Ending(SendHook):
    """Notes the ends of sends, and whether who waits has heard of them."""

    def __init__(self):
        self.ends = []

    def finish(self, operation):
        done = operation.extras["future"].done()
        self.ends.append((operation.extras["name"], operation.result, operation.error, done))


def prepared(future, name):
    made = item(future)
    made.operation = SendOperation("shop", [made.message], "async", extras={"future": future, "name": name})
    return made


@pytest.mark.parametrize("kind", [ThreadResults, LoopResults])
async def test_hooks_hear_of_each_end_once_and_first(kind):
    hook = Ending()
    results = kind([hook])
    make = results.new if kind is ThreadResults else asyncio.get_running_loop().create_future
    good, bad, plain = prepared(make(), "good"), prepared(make(), "bad"), item(make())
    assert len(operations_of([good, plain, bad])) == 2
    problem = ConnectionLost("gone")
    results.fail([bad], problem)
    resolve(results, plain)
    resolve(results, good)
    results.fail([bad], problem)
    assert hook.ends == [("bad", None, problem, False), ("good", RESULT, None, False)]
    assert operations_of([good, bad]) == ()
    assert bad.future.exception() is problem


def test_no_result_in_time():
    future = ThreadResults().new()
    with pytest.raises(concurrent.futures.TimeoutError):
        future.result(0)
    with pytest.raises(concurrent.futures.TimeoutError):
        future.exception(0.001)


def test_it_cannot_be_cancelled():
    future = ThreadResults().new()
    assert not future.cancel()
    assert not future.cancelled()


def test_callbacks_run_before_and_after_the_end():
    results = ThreadResults()
    future = results.new()
    seen = []
    future.add_done_callback(seen.append)
    resolve(results, item(future))
    future.add_done_callback(seen.append)
    assert seen == [future, future]


def test_it_stands_in_every_list_of_concurrent_futures():
    results = ThreadResults()
    futures = [results.new() for _ in range(3)]
    timer = threading.Timer(0, lambda: resolve(results, *map(item, futures)))
    timer.start()
    done, pending = concurrent.futures.wait(futures, timeout=120)
    timer.join()
    assert done == set(futures)
    assert not pending


def test_unknown_attributes_are_unknown():
    with pytest.raises(AttributeError, match="nothing"):
        _ = ThreadResults().new().nothing


async def test_cancelled_futures_of_a_loop_are_passed_over():
    loop = asyncio.get_running_loop()
    first, second, third = (loop.create_future() for _ in range(3))
    first.cancel()
    resolve(LoopResults(), item(first), item(second))
    assert second.result() == msgspec.structs.replace(RESULT, queue_offset=2)
    LoopResults().fail([item(second), item(third)], ConnectionLost("gone"))
    assert isinstance(third.exception(), ConnectionLost)
