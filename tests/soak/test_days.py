"""Days in simulated time: an hour here, whole ones with `-m long`."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.day import Day, Result
from trust.series import wanted

HOURS, HOURS_OF_A_LONG_CASE = 0.5, 24.0
DAYS_OF_A_LONG_RUN = 1
MORE_BLOCKS_MAX = 1000.0
"""Blocks of memory that an hour may add, once caches are filled."""


def check(result: Result, seed: int) -> None:
    """Everything that was promised came, as it was promised; and there was something to promise."""
    assert not result.findings, f"--seed {seed}:\n" + "\n".join(result.findings[:40] + result.events)
    assert min(result.sent.values()) > 20
    assert set(result.came) == set(result.sent)
    assert result.dead == result.came["poison"]
    assert result.again["poison"] >= 2 * result.dead
    assert result.restarts > 0
    assert result.replies > 10


@pytest.mark.parametrize("seed", [0])
def test_an_hour_keeps_its_promises(seed: int, place: Path) -> None:
    check(Day(place, seed, HOURS).run(), seed)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_a_day_keeps_its_promises(place: Path, pytestconfig: pytest.Config) -> None:
    first, count = wanted(pytestconfig, DAYS_OF_A_LONG_RUN)
    for seed in range(first, first + count):
        folder = place / str(seed)
        folder.mkdir()
        result = Day(folder, seed, HOURS_OF_A_LONG_CASE).run()
        check(result, seed)
        assert result.jumps > 5
        assert result.files_gone > 5
        weights = result.weights
        more = (weights[-1] - weights[len(weights) // 2]) / (len(weights) // 2)
        assert more < MORE_BLOCKS_MAX, f"--seed {seed}: each hour adds {more:.0f} blocks of memory: {weights}"
