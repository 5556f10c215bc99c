"""What is left to copy, and for how long it has waited."""

from __future__ import annotations

from mqframe_mirror.tally import LaneTally


def test_lag_is_what_lies_behind_the_position() -> None:
    tally = LaneTally(position=3, end=10, waiting_since_ms=4_000)
    assert (tally.lag, tally.lag_seconds(10_500)) == (7, 6.5)
    assert tally.lag_seconds(3_000) == 0.0  # clocks of brokers differ


def test_without_messages_there_is_none() -> None:
    assert (LaneTally(position=5, end=4).lag, LaneTally().lag_seconds(9_000)) == (0, 0.0)
