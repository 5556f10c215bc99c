"""Ages of halves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_testing.manual_clock import ManualClock
from mqframe_transactions.rules.half_ages import HalfAges
from mqframe_transactions.rules.half_rules import Age

NOW = 1_700_000_000_000
TEN_HOURS = 36_000


def half(offset: int, stored: int = NOW, root: int | None = None) -> Any:
    properties = {} if root is None else {"TRAN_PREPARED_QUEUE_OFFSET": str(root)}
    return SimpleNamespace(queue_offset=offset, store_timestamp=stored, properties=properties)


@pytest.mark.parametrize("jump", [TEN_HOURS, -TEN_HOURS])
def test_setting_the_clock_makes_no_half_older_or_younger(jump: int) -> None:
    clock = ManualClock(NOW)
    ages = HalfAges(clock, 5)
    ages.stored(5)
    clock.advance(2)
    clock.jump(jump)
    ages.stored(6)
    clock.advance(3)
    assert ages.age(half(5)) == Age(5000, 5000)
    assert ages.age(half(6, NOW + jump * 1000)) == Age(3000, 3000)
    assert ages.age(half(4, NOW - 10_000)) == Age(15_000, 5000)  # before this process, by the clock then


def test_a_half_of_a_clock_that_was_ahead_begins_its_life_with_the_process() -> None:
    clock = ManualClock(NOW)
    ages = HalfAges(clock, 5)
    clock.advance(1)
    assert ages.age(half(2, NOW + 3_600_000)) == Age(1000, 1000)


def test_what_is_put_back_keeps_its_age_until_it_ends() -> None:
    clock = ManualClock(NOW)
    ages = HalfAges(clock, 0)
    ages.stored(0)
    clock.advance(7)
    ages.moved(half(0))
    ages.stored(1)
    clock.advance(1)
    ages.moved(half(1, root=0))
    assert ages.age(half(2, root=0)) == Age(8000, 8000)
    ages.closed(0)
    ages.passed(1)
    assert ages.age(half(2, root=0)) == Age(1000, 1000)
