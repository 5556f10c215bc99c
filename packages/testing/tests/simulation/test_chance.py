"""Chance by a seed."""

from __future__ import annotations

import random

from mqframe_testing.simulation.chance import seeded


def drawn(seed: int) -> list[float]:
    with seeded(seed):
        return [random.random(), random.Random().random(), random.Random().random()]


def test_everything_without_a_seed_of_its_own_follows_from_the_seed() -> None:
    assert drawn(1) == drawn(1)
    assert len({*drawn(1), *drawn(2)}) == 6


def test_seeds_of_its_own_stay() -> None:
    outside = random.Random(7).random()
    with seeded(1):
        assert random.Random(7).random() == outside
        chance = random.Random()
        chance.seed(7)
        assert chance.random() == outside


def test_afterwards_all_is_as_before() -> None:
    state = random.getstate()
    drawn(1)
    assert random.getstate() == state
    assert random.Random().random() != random.Random().random()
