"""Which of several properties says when a message wants to be delivered."""

from __future__ import annotations

import pytest

from mqframe.core.delay.wanted_times import wanted_time
from mqframe.core.errors import Refusal


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({}, None),
        ({"TIMER_DELAY_SEC": "2", "TIMER_DELAY_MS": "7", "TIMER_DELIVER_MS": "9"}, 12_000),
        ({"TIMER_DELAY_MS": "7", "TIMER_DELIVER_MS": "9"}, 10_007),
        ({"TIMER_DELIVER_MS": "9"}, 9),
        ({"TIMER_DELAY_SEC": "-1"}, 9_000),
    ],
)
def test_the_first_property_counts(properties, wanted):
    assert wanted_time(properties, 10_000) == wanted


def test_a_time_that_is_no_number_is_refused():
    with pytest.raises(Refusal) as refused:
        wanted_time({"TIMER_DELAY_SEC": "1.5", "TIMER_DELIVER_MS": "9"}, 0)
    assert refused.value.code == 13
