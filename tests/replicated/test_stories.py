"""Replication on a network that fails, with machines that do: short here, long with `-m long`."""

from __future__ import annotations

from pathlib import Path

import pytest
from replicated.plot import story_of_a_master
from stories.series import replays, stories
from trust.series import try_all, wanted

CASES, CASES_OF_A_LONG_RUN = 12, 120


def test_slaves_have_what_was_acknowledged_and_agree_with_their_master(place: Path) -> None:
    try_all(stories(story_of_a_master, 0), CASES, place)


def test_a_story_replays_by_its_seed(place: Path) -> None:
    replays(story_of_a_master, 5, place)


@pytest.mark.long
@pytest.mark.timeout(0)
def test_slaves_agree_with_their_master_in_a_long_series(place: Path, pytestconfig: pytest.Config) -> None:
    seed, cases = wanted(pytestconfig, CASES_OF_A_LONG_RUN)
    try_all(stories(story_of_a_master, seed), cases, place)
