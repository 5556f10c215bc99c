"""Requests in threads: several at once, those of one queue in order."""

import threading
from typing import Any

import pytest
from mqframe_spark.sink.lanes import Lanes
from mqframe_spark.sink.outgoing import Outgoing

from mqframe.core.errors import ConnectError
from mqframe.core.messages.message import MessageQueue

QUEUES = tuple(MessageQueue("t", "a", number) for number in range(3))
SECONDS_MAX = 120


def request(number: int, queue: MessageQueue | None) -> Outgoing:
    return Outgoing("t", queue, b"x", 1, (number, number))


def test_one_queue_is_served_in_order_and_others_meanwhile() -> None:
    inside: dict[Any, int] = {}
    order: dict[Any, list[int]] = {}
    both = threading.Barrier(2)
    lock = threading.Lock()

    def send(one: Outgoing) -> None:
        with lock:
            inside[one.queue] = inside.get(one.queue, 0) + 1
            order.setdefault(one.queue, []).append(one.rows[0])
            assert one.queue is None or inside[one.queue] == 1
        if one.rows[0] in (0, 1):  # queues 0 and 1 must be under way at once
            both.wait(SECONDS_MAX)
        with lock:
            inside[one.queue] -= 1

    lanes = Lanes(send, 3)
    for number in range(60):
        lanes.put(request(number, QUEUES[number % 2] if number % 3 else None if number else QUEUES[0]))
    lanes.finish()
    lanes.close()
    assert sorted(number for numbers in order.values() for number in numbers) == list(range(60))
    for queue in QUEUES[:2]:
        assert order[queue] == sorted(order[queue])
        assert len(order[queue]) > 15


def test_what_needs_no_order_goes_at_once() -> None:
    together = threading.Barrier(3)
    lanes = Lanes(lambda one: together.wait(SECONDS_MAX) and None, 3)
    for number in range(3):
        lanes.put(request(number, None))
    lanes.finish()
    lanes.close()
    assert not together.broken


def test_the_first_error_ends_it() -> None:
    tried = []

    def send(one: Outgoing) -> None:
        tried.append(one.rows[0])
        raise ConnectError("away")

    lanes = Lanes(send, 1)
    lanes.put(request(0, QUEUES[0]))
    with pytest.raises(ConnectError, match="away"):
        lanes.finish()
    with pytest.raises(ConnectError, match="away"):
        lanes.put(request(1, QUEUES[0]))
    lanes.close()
    assert tried == [0]


def test_closing_early_sends_nothing_more() -> None:
    begun, go_on = threading.Event(), threading.Event()
    tried = []

    def send(one: Outgoing) -> None:
        tried.append(one.rows[0])
        begun.set()
        go_on.wait(SECONDS_MAX)

    lanes = Lanes(send, 1)
    for number in range(2):
        lanes.put(request(number, QUEUES[0]))
    assert begun.wait(SECONDS_MAX)
    closing = threading.Thread(target=lanes.close)
    closing.start()
    while lanes._problem is None:
        begun.wait(0)
    go_on.set()
    closing.join(SECONDS_MAX)
    assert tried == [0]
