"""Elected groups on a network that fails, with machines that do: short here, long by `-m long`."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from elected.promises import Broken as PromiseBroken
from elected.story import Story
from trust.checks import Broken
from trust.series import Case, Cases, try_all, wanted

CASES, CASES_OF_A_LONG_RUN = 15, 150


def stories(seed: int) -> Cases:
    """The stories from `seed` on, without an end."""

    def play(number: int, place: Path) -> None:
        place.mkdir()
        try:
            Story(place, number).run()
        except PromiseBroken as broken:
            raise Broken("an elected group", str(broken)) from broken

    for number in count(seed):
        yield Case(number, "story", lambda place, number=number: play(number, place))  # type: ignore[misc]


def test_elected_groups_lose_nothing_that_was_acknowledged(place: Path) -> None:
    try_all(stories(0), CASES, place)


def test_a_story_replays_by_its_seed(place: Path) -> None:
    told = []
    for folder in ("once", "again"):
        (place / folder).mkdir()
        story = Story(place / folder, 5)
        story.run()
        told.append((story.simulation.steps, story.simulation.clock.monotonic(), story.group.promises.sends))
    assert told[0] == told[1]
    assert len(told[0][0]) > 30


@pytest.mark.long
@pytest.mark.timeout(0)
def test_elected_groups_lose_nothing_in_a_long_series(place: Path, pytestconfig: pytest.Config) -> None:
    seed, cases = wanted(pytestconfig, CASES_OF_A_LONG_RUN)
    try_all(stories(seed), cases, place)
