"""The machines that go on looking: short here, long with `-m long` (CONTRIBUTING.md says how)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from trust.crashes import images
from trust.damage import damages
from trust.faults import faults
from trust.series import Case, try_all, wanted

Machine = Callable[[Path, int], Iterator[Case]]
MACHINES = pytest.mark.parametrize(
    ("machine", "cases"), [(images, 600), (damages, 300), (faults, 200)], ids=["images", "damage", "faults"]
)


@MACHINES
def test_nothing_that_was_promised_is_lost(machine: Machine, cases: int, place: Path) -> None:
    try_all(machine(place, 0), cases, place)


@pytest.mark.long
@pytest.mark.timeout(0)
@MACHINES
def test_nothing_is_lost_in_a_long_series(
    machine: Machine, cases: int, place: Path, pytestconfig: pytest.Config
) -> None:
    seed, count = wanted(pytestconfig)
    try_all(machine(place, seed), count, place)
