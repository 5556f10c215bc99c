"""What operators are told of brokers that keep one log."""

from __future__ import annotations

import pytest
from mqframe_admin.rules.replica import ForcedElection, told_log_bounds

from mqframe.core.errors import BadAnswer


def test_what_may_be_lost_is_told_in_bytes_and_names() -> None:
    forced = ForcedElection("g", "h:1", 4, 700, 1000, (1, 3))
    assert "its log ends at 700; in epoch 4 1000 was confirmed or more" in forced.loss
    assert "300 bytes" in forced.loss
    assert forced.loss.endswith("in sync: broker 1, 3")


def test_the_ends_of_a_log_are_read_from_what_a_broker_says() -> None:
    assert told_log_bounds({"commitLogMinOffset": "5", "commitLogMaxOffset": "70"}, "h:1") == (5, 70)
    for counters in ({"commitLogMinOffset": "5"}, {"commitLogMinOffset": "x", "commitLogMaxOffset": "70"}):
        with pytest.raises(BadAnswer, match="h:1 does not say where its log begins"):
            told_log_bounds(counters, "h:1")
