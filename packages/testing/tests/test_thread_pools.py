"""Waiting for the work of thread pools."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from mqframe_testing.thread_pools import at_rest, watched


async def test_it_waits_for_what_pools_were_given() -> None:
    go, done = Event(), []
    with watched(), ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: done.append(go.wait(60)))
        pool.submit(go.wait, 60)
        go.set()
        await at_rest()
        assert done == [True]


async def test_what_waits_within_another_leaves_that_one_watching() -> None:
    done = []
    with watched():
        watching = ThreadPoolExecutor.submit
        with watched():
            assert ThreadPoolExecutor.submit is watching
        assert ThreadPoolExecutor.submit is watching
        with ThreadPoolExecutor(1) as pool:
            pool.submit(done.append, 1)
            await at_rest()
            assert done == [1]
