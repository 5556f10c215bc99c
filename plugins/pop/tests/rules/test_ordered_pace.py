"""Pops in order begin with one message, and begin anew with one after a failure."""

from __future__ import annotations

from mqframe_pop.rules.ordered_pace import OrderedPace


def test_it_doubles_up_to_the_most_and_begins_anew_after_a_failure() -> None:
    pace = OrderedPace(32)
    counts = [pace.count]
    for _ in range(6):
        pace.went_well()
        counts.append(pace.count)
    assert counts == [1, 2, 4, 8, 16, 32, 32]
    pace.failed()
    assert pace.count == 1
