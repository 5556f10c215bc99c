"""How long listeners take, which decides how many workers are woken."""

from __future__ import annotations

from mqframe.client.consuming.push.work import QUICK_SECONDS, CallPace


def test_what_is_not_known_yet_counts_as_slow() -> None:
    assert not CallPace().quick


def test_the_first_call_sets_the_pace() -> None:
    pace = CallPace()
    pace.note(QUICK_SECONDS / 2)
    assert pace.quick
    pace = CallPace()
    pace.note(QUICK_SECONDS)
    assert not pace.quick


def test_one_slow_call_among_quick_ones_ends_the_quick_pace_until_it_is_outweighed() -> None:
    pace = CallPace()
    pace.note(QUICK_SECONDS / 10)
    pace.note(1000 * QUICK_SECONDS)
    assert not pace.quick
    quick_calls = 0
    while not pace.quick:
        pace.note(QUICK_SECONDS / 10)
        quick_calls += 1
    assert 20 < quick_calls < 100
