import asyncio
import signal
import threading

import pytest

from mqframe.client.connection.loop_thread import LoopThread
from mqframe.core.errors import CallTimeout, ClosedError


@pytest.fixture
def thread():
    made = LoopThread("test")
    yield made
    made.stop()


async def name():
    return threading.current_thread().name


async def fail():
    raise ValueError("mine")


async def call_itself(thread):
    return thread.call(name())


def test_work_runs_on_its_thread(thread):
    assert thread.call(name()) == "test"


def test_errors_come_back(thread):
    with pytest.raises(ValueError, match="mine"):
        thread.call(fail())


def test_no_result_in_time(thread):
    with pytest.raises(CallTimeout):
        thread.call(asyncio.sleep(60), 0.01)


def test_it_does_not_wait_for_itself(thread):
    with pytest.raises(ClosedError):
        thread.call(call_itself(thread))


def test_after_the_end():
    thread = LoopThread("test")
    thread.stop()
    thread.stop()
    with pytest.raises(ClosedError):
        thread.call(name())


def test_an_interrupt_of_the_caller_cancels_the_work(thread):
    begun, cancelled, caller = threading.Event(), threading.Event(), threading.get_ident()

    async def work():
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    met = []

    def interrupted(*_):
        if not met:
            met.append(signal.SIGINT)
            raise KeyboardInterrupt

    def interrupt():
        assert begun.wait(120)
        # A signal that comes just before the caller falls asleep does not wake it: it takes another one.
        while not cancelled.wait(0.05):
            signal.pthread_kill(caller, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, interrupted)
    try:
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            thread.call(work())
    finally:
        interrupter.join()
        signal.signal(signal.SIGINT, before)
    assert cancelled.is_set()


def test_a_call_that_is_under_way_when_the_loop_ends_is_refused_in_words():
    thread, begun, met = LoopThread("test"), threading.Event(), []

    async def work():
        begun.set()
        await asyncio.sleep(3600)

    def call():
        try:
            thread.call(work())
        except BaseException as problem:
            met.append(problem)

    caller = threading.Thread(target=call)
    caller.start()
    assert begun.wait(120)
    thread.stop()
    caller.join(120)
    assert [type(problem) for problem in met] == [ClosedError]


def test_what_is_handed_over_while_the_loop_ends_gets_an_end():
    for _ in range(200):
        thread, start, ends = LoopThread("test"), threading.Barrier(5), []

        def call(thread=thread, start=start, ends=ends):
            start.wait()
            for _ in range(50):
                try:
                    ends.append(thread.call(name(), 120))
                except ClosedError:
                    ends.append(ClosedError)
                    return

        callers = [threading.Thread(target=call) for _ in range(4)]
        for caller in callers:
            caller.start()
        start.wait()
        thread.stop()
        for caller in callers:
            caller.join(120)
            assert not caller.is_alive()
        assert set(ends) <= {"test", ClosedError}


def test_work_that_begins_others_while_it_is_cancelled_ends_too():
    thread, begun, ended = LoopThread("test"), threading.Event(), []

    async def last():
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("last")

    async def work():
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("first")
            ended.append(asyncio.ensure_future(last()))
            await asyncio.sleep(0)

    future = thread.submit(work())
    assert begun.wait(120)
    thread.stop()
    assert isinstance(future.exception(0), ClosedError)
    assert ended[0] == "first"
    assert ended[1].done()
