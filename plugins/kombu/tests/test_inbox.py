from __future__ import annotations

import select
import threading
import time

import pytest
from mqframe_kombu.inbox import Inbox


@pytest.fixture
def inbox():
    made = Inbox()
    yield made
    made.close()


def readable(inbox: Inbox) -> bool:
    return bool(select.select([inbox.fileno()], [], [], 0)[0])


def test_calls_come_in_order_and_the_pipe_tells_of_them(inbox: Inbox) -> None:
    seen: list[int] = []
    assert not readable(inbox)
    for n in range(3):
        inbox.put(lambda n=n: seen.append(n))
    assert readable(inbox)
    while (call := inbox.take(0)) is not None:
        call()
    assert seen == [0, 1, 2]
    assert not readable(inbox)


def test_who_waits_is_woken(inbox: Inbox) -> None:
    seen: list[object] = []
    waiting = threading.Thread(target=lambda: seen.append(inbox.take(30)))
    waiting.start()
    call = lambda: None  # noqa: E731
    inbox.put(call)
    waiting.join(30)
    assert seen == [call]


def test_nothing_within_the_time_is_none(inbox: Inbox) -> None:
    began = time.monotonic()
    assert inbox.take(0.05) is None
    assert 0.05 <= time.monotonic() - began < 5


def test_a_failure_comes_after_what_was_there_and_stays(inbox: Inbox) -> None:
    call = lambda: None  # noqa: E731
    inbox.put(call)
    inbox.fail(OSError("gone"))
    inbox.fail(OSError("again"))
    assert inbox.take(0) is call
    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            inbox.take(0)
        assert readable(inbox)
