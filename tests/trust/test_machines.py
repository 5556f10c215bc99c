"""The machines that go on looking: short here, long with `-m long` (CONTRIBUTING.md says how)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from trust.broker_crashes import broker_images
from trust.checks import UNCHECKED, UNFOUND
from trust.crashes import images
from trust.cuts import broker_cuts
from trust.damage import damages
from trust.faults import faults
from trust.series import Cases, try_all, wanted

Machine = Callable[[Path, int], Cases]
KNOWN: Final = {damages: {UNCHECKED, UNFOUND}}
"""Kinds of failures that are not mended, by machine; `docs/explanation/durability.md` says what they are.

Half of the stores have CRCs over records (`store.property_crc`): there the first kind has another name.
"""
MACHINES = pytest.mark.parametrize(
    ("machine", "cases"),
    [(images, 450), (broker_images, 50), (damages, 160), (faults, 80), (broker_cuts, 50)],
    ids=["images", "broker images", "damage", "faults", "cuts"],
)
"""With the cases of a long run; any other run tries a tenth."""


@MACHINES
def test_nothing_that_was_promised_is_lost(machine: Machine, cases: int, place: Path) -> None:
    try_all(machine(place, 0), cases // 10, place, KNOWN.get(machine, ()))


@pytest.mark.long
@pytest.mark.timeout(0)
@MACHINES
def test_nothing_is_lost_in_a_long_series(
    machine: Machine, cases: int, place: Path, pytestconfig: pytest.Config
) -> None:
    seed, count = wanted(pytestconfig, cases)
    try_all(machine(place, seed), count, place, KNOWN.get(machine, ()))
