"""What operators are told of brokers that keep one log."""

from __future__ import annotations

from mqframe_admin.rules.replica import ForcedElection


def test_what_may_be_lost_is_told_in_bytes_and_names() -> None:
    forced = ForcedElection("g", "h:1", 4, 700, 1000, (1, 3))
    assert "its log ends at 700; in epoch 4 1000 was confirmed or more" in forced.loss
    assert "300 bytes" in forced.loss
    assert forced.loss.endswith("in sync: broker 1, 3")
