import threading

import pytest
from mqframe_idempotence.counts import Counted, Counts


def test_counters_begin_at_zero_and_add_up() -> None:
    counts = Counts()
    assert counts.snapshot() == Counted()
    counts.add("duplicates")
    counts.add("duplicates", 2)
    counts.add("lost", 0)
    assert counts.snapshot() == Counted(duplicates=3)


def test_threads_lose_no_count() -> None:
    counts = Counts()
    threads = [
        threading.Thread(target=lambda: [counts.add("effects") for _ in range(2000)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts.snapshot().effects == 8000


def test_there_are_no_other_counters() -> None:
    with pytest.raises(KeyError):
        Counts().add("efects")
