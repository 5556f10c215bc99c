from __future__ import annotations

import pytest

from mqframe.core.consuming.flow_control import (
    FetchLimits,
    FlowLimits,
    HeldTotals,
    has_room,
    held_back_by,
    wants_heartbeat,
)
from mqframe.core.consuming.process_queue import ProcessQueue
from mqframe.core.errors import CallTimeout, answer_error
from mqframe.core.messages.message import MessageQueue, ReceivedMessage

LIMITS = FlowLimits(1000, 100 * 1024 * 1024, 2000)


def holding(*offsets: int, size: int = 100) -> ProcessQueue:
    queue = ProcessQueue(MessageQueue("t", "b", 0), 0.0)
    queue.put(
        [
            ReceivedMessage("t", 0, offset, 0, size, 0, 0, b"", b"", 0, 0, 0, 0, 0, b"", b"")
            for offset in offsets
        ]
    )
    return queue


@pytest.mark.parametrize(
    ("held", "word"),
    [
        (holding(*range(1000)), None),
        (holding(*range(1001)), "messages"),
        (holding(0, size=100 * 1024 * 1024), None),
        (holding(0, 1, size=60 * 1024 * 1024), "bytes"),
        (holding(0, 2000), None),
        (holding(0, 2001), "span"),
    ],
)
def test_limits_hold_a_pull_back_when_they_are_passed(held, word) -> None:
    why = held_back_by(held, LIMITS)
    assert why is None if word is None else word in why


def test_room_is_half_of_what_holds_back() -> None:
    assert not has_room(holding(*range(501)), LIMITS)
    assert has_room(holding(*range(500)), LIMITS)
    assert not has_room(holding(0, 2001), LIMITS)
    assert not has_room(holding(0, size=51 * 1024 * 1024), LIMITS)


@pytest.mark.parametrize(
    ("messages", "size", "owned", "expected"),
    [
        (0, 0, 3, LIMITS),
        (900, 0, 3, FlowLimits(300, LIMITS.bytes_max, 2000)),
        (2, 0, 3, FlowLimits(1, LIMITS.bytes_max, 2000)),
        (0, 1000, 4, FlowLimits(1000, 250, 2000)),
        (900, 0, 0, FlowLimits(900, LIMITS.bytes_max, 2000)),
    ],
)
def test_topic_limits_divide_over_owned_queues(messages, size, owned, expected) -> None:
    limits = FetchLimits(queue=LIMITS, topic_messages_max=messages, topic_bytes_max=size)
    assert limits.shared(owned) == expected


@pytest.mark.parametrize(
    ("problem", "heartbeat"),
    [
        (CallTimeout("late"), False),
        (answer_error(1, None, "a:1"), False),
        (answer_error(215, None, "a:1"), False),
        (answer_error(24, None, "a:1"), True),
        (answer_error(25, None, "a:1"), True),
    ],
)
def test_only_an_unknown_subscription_wants_a_heartbeat(problem, heartbeat) -> None:
    assert wants_heartbeat(problem) is heartbeat


def test_totals_are_full_beyond_either_limit() -> None:
    totals = HeldTotals(FetchLimits(queue=LIMITS, held_messages_max=10, held_bytes_max=100))
    totals.messages, totals.bytes = 10, 100
    assert not totals.full
    totals.messages = 11
    assert totals.full
    totals.messages, totals.bytes = 0, 101
    assert totals.full
    assert str(totals) == "0 messages of 101 bytes held of all queues"


def test_limits_of_a_topic_replace_those_of_its_queues() -> None:
    limits = FetchLimits(queue=FlowLimits(1000, 5000, 7), topic_messages_max=90)
    assert limits.shared(4) == FlowLimits(22, 5000, 7)
    assert FetchLimits(queue=FlowLimits(1000, 5000, 7)).shared(4) == FlowLimits(1000, 5000, 7)
