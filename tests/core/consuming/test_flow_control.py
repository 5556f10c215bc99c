from __future__ import annotations

import pytest

from mqframe.core.errors import CallTimeout, answer_error
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.process_queue import ProcessQueue
from mqframe.core.pull_flow import (
    FlowLimits,
    has_room,
    held_back_by,
    seconds_after,
    shared_limits,
    wants_heartbeat,
)

LIMITS = FlowLimits(1000, 100 * 1024 * 1024, 2000)


def holding(*offsets: int, size: int = 100) -> ProcessQueue:
    queue = ProcessQueue(MessageQueue("t", "b", 0), 0.0)
    queue.put(
        ReceivedMessage("t", 0, offset, 0, size, 0, 0, b"", b"", 0, 0, 0, 0, 0, b"", b"")
        for offset in offsets
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
    assert shared_limits(LIMITS, messages, size, owned) == expected


@pytest.mark.parametrize(
    ("problem", "seconds", "heartbeat"),
    [
        (CallTimeout("late"), 3.0, False),
        (answer_error(1, None, "a:1"), 3.0, False),
        (answer_error(215, None, "a:1"), 0.02, False),
        (answer_error(24, None, "a:1"), 3.0, True),
        (answer_error(25, None, "a:1"), 3.0, True),
    ],
)
def test_after_an_error(problem, seconds, heartbeat) -> None:
    assert seconds_after(problem) == seconds
    assert wants_heartbeat(problem) is heartbeat
