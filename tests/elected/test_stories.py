"""Elected groups on a network that fails, with machines that do: short here, long by `-m long`."""

from __future__ import annotations

from pathlib import Path

import pytest
from elected.plot import story_of_a_group
from stories.series import replays, stories
from trust.series import try_all, wanted

CASES, CASES_OF_A_LONG_RUN = 15, 150


def test_elected_groups_lose_nothing_that_was_acknowledged(place: Path) -> None:
    try_all(stories(story_of_a_group, 0), CASES, place)


def test_a_story_replays_by_its_seed(place: Path) -> None:
    replays(story_of_a_group, 5, place)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_elected_groups_lose_nothing_in_a_long_series(place: Path, pytestconfig: pytest.Config) -> None:
    seed, cases = wanted(pytestconfig, CASES_OF_A_LONG_RUN)
    try_all(stories(story_of_a_group, seed), cases, place)
