import asyncio
import os
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
    begun, cancelled = threading.Event(), threading.Event()

    async def work():
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    def interrupt():
        assert begun.wait(120)
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    # Whoever is started in the background of a shell is deaf to this signal otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            thread.call(work())
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled.wait(120)
    interrupter.join()
