"""Ways of a simulation: what comes through before a cut, and how long it takes."""

from __future__ import annotations

from random import Random

import pytest
from mqframe_testing.simulation.way import RESEND_SECONDS, RESENDS_MAX, Way


def test_bytes_come_through_up_to_a_cut_and_all_of_them_afterwards() -> None:
    way = Way(cut_after=10)
    assert [way.room(6), way.room(6), way.room(6)] == [6, 4, 6]
    assert way.cut_after is None
    assert Way().room(100) == 100


def test_a_delay_is_all_of_its_seconds_without_chance_and_at_most_so_many_with_it() -> None:
    way = Way(delay=2.0)
    assert way.delay_of(None) == 2.0
    assert all(0 <= way.delay_of(Random(seed)) < 2.0 for seed in range(20))
    assert Way().delay_of(Random(1)) == 0.0


def test_what_is_lost_is_sent_again_after_twice_the_time_each() -> None:
    always = Way(loss=1.0).delay_of(Random(1))
    assert always == pytest.approx(RESEND_SECONDS * (2**RESENDS_MAX - 1))
    never = Way(loss=1e-12).delay_of(Random(1))
    assert never == 0.0
