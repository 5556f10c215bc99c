"""The suite of queue selectors: a good one passes, each faulty one is caught by the check of its rule."""

from __future__ import annotations

from typing import ClassVar

import pytest
from faults import caught_by
from mqframe_testing.conformance import SelectorConformance

from mqframe.core.messages.message import MessageQueue
from mqframe.hooks.interfaces import QueueSelector


class ByLength(QueueSelector):
    """Goes by how long the key is."""

    def select(self, queues, message, key):
        return queues[len(key) % len(queues)]


class TestSelector(SelectorConformance):
    def make(self) -> QueueSelector:
        return ByLength()


class Inventive(QueueSelector):
    """Chooses a queue that is not offered."""

    def select(self, queues, message, key):
        return MessageQueue(message.topic, "broker-z", 0)


class InTurns(QueueSelector):
    """Forgets the key."""

    def __init__(self):
        self.asked = 0

    def select(self, queues, message, key):
        self.asked += 1
        return queues[self.asked % len(queues)]


class OfItsOwn(QueueSelector):
    """Each selector has another queue."""

    made: ClassVar[int] = 0

    def __init__(self):
        OfItsOwn.made += 1
        self.start = OfItsOwn.made

    def select(self, queues, message, key):
        return queues[self.start % len(queues)]


class Reversing(ByLength):
    """Turns the list around."""

    def select(self, queues, message, key):
        chosen = super().select(queues, message, key)
        queues.reverse()
        return chosen


@pytest.mark.parametrize(
    ("faulty", "check"),
    [
        (Inventive, "test_chooses_one_of_the_queues"),
        (InTurns, "test_a_key_keeps_its_queue"),
        (OfItsOwn, "test_a_key_keeps_its_queue"),
        (Reversing, "test_the_queues_stay_as_they_are"),
    ],
)
def test_a_faulty_selector_is_caught(faulty: type[QueueSelector], check: str) -> None:
    class Suite(SelectorConformance):
        def make(self) -> QueueSelector:
            return faulty()

    assert check in caught_by(Suite)


def test_a_selector_need_not_go_by_the_key_if_it_says_so() -> None:
    class Suite(SelectorConformance):
        stable = False

        def make(self) -> QueueSelector:
            return InTurns()

    assert caught_by(Suite) == []
