"""Series of stories, and that each replays."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

from stories.story import Story
from trust.series import Case, Cases


def stories(make: Callable[[Path, int], Story], seed: int) -> Cases:
    """Those of `make`, from `seed` on, without an end."""

    def play(number: int, place: Path) -> None:
        place.mkdir()
        make(place, number).run()

    for number in count(seed):
        yield Case(number, "story", lambda place, number=number: play(number, place))  # type: ignore[misc]


def replays(make: Callable[[Path, int], Story], seed: int, place: Path) -> None:
    """Raises `AssertionError` unless the story of this seed is the same twice."""
    told = []
    for folder in ("once", "again"):
        (place / folder).mkdir()
        story = make(place / folder, seed)
        story.run()
        told.append((story.simulation.steps, story.clock.monotonic(), story.brokers.promised()))
    assert told[0] == told[1]
    assert len(told[0][0]) > 30
