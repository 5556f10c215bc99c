"""Messages of a queue, in order and within bounds."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from mqframe_dashboard import reading
from mqframe_dashboard.asking import Asking
from mqframe_dashboard.reading import messages_of

from mqframe.core.messages.message import MessageQueue

QUEUE = MessageQueue("t", "a", 0)


class FakePuller:
    """A queue with offsets 0 to 99, of which a clean-up took those from 10 to 19; gives three at once."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    async def pull(self, queue: MessageQueue, at: int, most: int) -> Any:
        self.asked.append((at, most))
        if 10 <= at < 20:
            return SimpleNamespace(messages=[], next_offset=20)
        offsets = list(range(at, min(at + min(most, 3), 10 if at < 10 else 100)))
        messages = [SimpleNamespace(queue_offset=each, store_size=100) for each in offsets]
        return SimpleNamespace(messages=messages, next_offset=at + len(offsets))


def read(at: int, end: int, at_once: int = 32) -> tuple[list[int], list[tuple[int, int]]]:
    puller: Any = FakePuller()

    async def scenario() -> list[int]:
        asking = Asking(puller, puller)
        return [each.queue_offset async for each in messages_of(asking, QUEUE, at, end, at_once)]

    return asyncio.run(scenario()), puller.asked


def test_all_between_two_offsets_come_in_order():
    assert read(3, 8)[0] == [3, 4, 5, 6, 7]


def test_no_more_is_asked_for_than_is_wanted():
    assert read(3, 5)[1] == [(3, 2)]
    assert read(0, 5, at_once=2)[1] == [(0, 2), (2, 2), (4, 1)]


def test_a_gap_is_stepped_over():
    assert read(8, 22)[0] == [8, 9, 20, 21]


def test_it_ends_with_the_bytes_of_a_page(monkeypatch):
    monkeypatch.setattr(reading, "BYTES_MAX", 250)
    assert read(0, 100) == ([0, 1, 2], [(0, 32)])


def test_nothing_is_asked_where_nothing_is():
    assert read(5, 5) == ([], [])
