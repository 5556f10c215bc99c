"""What comes again is begun one by one, until it is certain that it is not just what one process left."""

from __future__ import annotations

import itertools

from mqframe_pop.rules.pop_suspects import CALM_SECONDS, PopSuspects


def test_one_by_one_until_as_many_went_well_as_one_process_leaves() -> None:
    suspects = PopSuspects(3)
    assert suspects.came(100.0)
    for n in range(3):
        assert suspects.came(100.0 + n)
        suspects.went_well()
    assert not suspects.came(103.0)
    assert not suspects.came(103.0 + CALM_SECONDS)


def test_after_a_calm_time_it_begins_anew() -> None:
    suspects = PopSuspects(1)
    suspects.came(100.0)
    suspects.went_well()
    assert not suspects.came(101.0)
    assert suspects.came(101.0 + CALM_SECONDS + 0.1)


def test_what_waits_is_set_apart_from_each_other_and_from_the_one_that_is_handled() -> None:
    suspects = PopSuspects(100)
    factors = sorted(suspects.apart() for _ in range(20))
    assert factors[0] >= 1.1
    assert factors[-1] <= 1.9
    assert min(b - a for a, b in itertools.pairwise(factors)) > 0.01
