"""Thread pools without threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from mqframe_testing.simulation.pools import spent_in_pools, work_at_once


def test_work_is_done_when_submit_returns_and_in_the_same_thread() -> None:
    with work_at_once(), ThreadPoolExecutor(1) as pool:
        future = pool.submit(threading.get_ident)
        assert future.done()
        assert future.result() == threading.get_ident()
        failed = pool.submit(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            failed.result()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threading.get_ident).result() != threading.get_ident()


def test_the_processor_time_of_work_is_counted() -> None:
    with work_at_once(), ThreadPoolExecutor(1) as pool:
        before = spent_in_pools()
        pool.submit(lambda: sum(range(400_000)))
        assert spent_in_pools() > before
