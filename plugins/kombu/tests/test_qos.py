from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_kombu.held import HeldOutcome
from mqframe_kombu.qos import QoS


class Feed:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def set_prefetch(self, count: int) -> None:
        self.told.append(count)

    def settle(self, held: str, outcome: HeldOutcome) -> None:
        self.told.append((held, outcome))

    def give_back(self, helds: list[str]) -> None:
        self.told.append([*helds, HeldOutcome.REQUEUE])


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def qos(feed: Feed) -> QoS:
    link = SimpleNamespace(soon=lambda call, *args: call(*args), call=lambda done: done)
    made = QoS(link, feed)  # type: ignore[arg-type]
    for held in "abc":
        made.append(held, made.next_tag())  # type: ignore[arg-type]
    return made


def test_tags_count_and_are_settled_once(qos: QoS, feed: Feed) -> None:
    assert len(qos) == 3
    assert qos.next_tag() == 4
    qos.settle(2, HeldOutcome.ACK)
    qos.settle(2, HeldOutcome.ACK)
    qos.settle(9, HeldOutcome.DEAD_LETTER)
    assert feed.told == [("b", HeldOutcome.ACK)]
    assert len(qos) == 2


def test_several_are_settled_at_once(qos: QoS, feed: Feed) -> None:
    qos.settle(2, HeldOutcome.ACK, multiple=True)
    assert feed.told == [("a", HeldOutcome.ACK), ("b", HeldOutcome.ACK)]
    qos.settle(3, HeldOutcome.REQUEUE)
    assert feed.told[2:] == [["c", HeldOutcome.REQUEUE]]


def test_all_go_back(qos: QoS, feed: Feed) -> None:
    qos.restore_unacked_once()
    qos.restore_unacked()
    assert feed.told == [["a", "b", "c", HeldOutcome.REQUEUE], [HeldOutcome.REQUEUE]]
    assert len(qos) == 0


def test_the_prefetch_count_is_told(qos: QoS, feed: Feed) -> None:
    assert qos.can_consume()
    qos.prefetch_count = 3
    assert not qos.can_consume()
    qos.prefetch_count = 4
    assert qos.can_consume()
    qos.prefetch_count = None
    assert qos.prefetch_count == 0
    assert feed.told == [3, 4, 0]
