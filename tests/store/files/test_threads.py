"""Threads of a store, and what becomes of their results when it is closed."""

from __future__ import annotations

import asyncio
import threading

from mqframe.store.files.threads import Threads


async def test_results_come_back_on_the_loop():
    threads, told = Threads(), asyncio.Queue()
    threads.attach()

    def done(result, problem):
        told.put_nowait((result, problem, threading.current_thread() is threading.main_thread()))

    failure = OSError("no such luck")

    def fail():
        raise failure

    threads.run(lambda: 7, done)
    assert await told.get() == (7, None, True)
    threads.run(fail, done)
    assert await told.get() == (None, failure, True)
    threads.close()


async def test_nobody_is_told_and_nothing_begins_once_they_are_ended():
    threads, worked, told = Threads(), [], []
    threads.attach()
    gate = threading.Event()
    threads.run(lambda: worked.append(gate.wait(120)), lambda *result: told.append(result))
    gate.set()
    threads.close()  # waits for what is under way; its result is on its way to the loop then
    assert worked == [True]
    threads.run(lambda: worked.append(False), lambda *result: told.append(result))
    for _ in range(5):
        await asyncio.sleep(0.001)
    assert (worked, told) == ([True], [])
