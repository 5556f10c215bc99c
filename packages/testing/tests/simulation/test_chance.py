"""Chance by a seed."""

from __future__ import annotations

import random

from mqframe_testing.simulation.chance import numbered_clients, seeded

from mqframe.client.connection.identity import client_id
from mqframe.client.settings import ClientSettings


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


def test_clients_are_named_by_their_number_unless_they_have_a_name() -> None:
    runs = []
    for _ in range(2):
        with numbered_clients():
            runs.append([client_id(ClientSettings(), "10.0.0.7") for _ in range(11)])
            assert client_id(ClientSettings(instance_name="one"), "10.0.0.7") == "10.0.0.7@one"
    assert runs[0] == runs[1] == sorted(set(runs[0]))
    assert len({len(each) for each in runs[0]}) == 1
    assert client_id(ClientSettings(), "10.0.0.7") not in runs[0]
