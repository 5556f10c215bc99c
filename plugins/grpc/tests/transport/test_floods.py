from __future__ import annotations

import pytest
from mqframe_grpc.transport.floods import Floods
from mqframe_grpc.transport.frames import ErrorCode, HttpBroken
from mqframe_grpc.transport.limits import GrpcLimits
from mqframe_testing.manual_clock import ManualClock

LIMITS = GrpcLimits(resets_max=3, signals_max=5)


def test_cancelled_calls_are_counted_by_the_second() -> None:
    clock = ManualClock()
    floods = Floods(LIMITS, clock.monotonic)
    for _ in range(3):
        floods.reset()
    clock.advance(1.0)
    for _ in range(3):
        floods.reset()
    with pytest.raises(HttpBroken, match="cancelled calls") as caught:
        floods.reset()
    assert caught.value.code is ErrorCode.ENHANCE_YOUR_CALM


def test_empty_frames_are_counted_by_the_second() -> None:
    clock = ManualClock()
    floods = Floods(LIMITS, clock.monotonic)
    for _ in range(10):  # pings for ever, as of a client that has nothing to do
        for _ in range(5):
            floods.signal()
        clock.advance(1.0)
    for _ in range(5):
        floods.signal()
    with pytest.raises(HttpBroken, match="without anything"):
        floods.signal()


def test_some_go_with_each_that_carries_something() -> None:
    floods = Floods(LIMITS, ManualClock().monotonic)
    floods.signal()
    floods.content += 100
    for _ in range(4 + 400):
        floods.signal()
    with pytest.raises(HttpBroken):
        floods.signal()


def test_what_was_carried_long_ago_does_not_count() -> None:
    clock = ManualClock()
    floods = Floods(LIMITS, clock.monotonic)
    floods.content += 100
    clock.advance(1.0)
    for _ in range(5):
        floods.signal()
    with pytest.raises(HttpBroken):
        floods.signal()


def test_some_frames_weigh_more() -> None:
    floods = Floods(LIMITS, ManualClock().monotonic)
    floods.signal(5)
    with pytest.raises(HttpBroken):
        floods.signal()
