"""Crash images: a recorded life, and the disks that a loss of power at any of its moments could leave."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import attrs
from indexed import LOG_READING
from mqframe_testing.manual_clock import ManualClock
from trust.checks import StoreCheck
from trust.disk import PAGE, Disk, Event, Image, Noted, SyncedAll
from trust.life import (
    IN_2100,
    Acknowledged,
    Cleaning,
    Flushed,
    Sent,
    Stored,
    StoreLife,
    index_of,
    small_settings,
    stepped_threads,
)
from trust.seam import Seam
from trust.series import Case, Cases

from mqframe.core.errors import StoreError
from mqframe.store.message_store import MessageStore
from mqframe.store.settings import StoreSettings

STEPS_MAX: Final = 400
MOMENTS: Final = 15
IMAGES_OF_A_MOMENT: Final = 3
STARTS_CUT_OFF: Final = 0.15
"""How often the start after a loss of power is one more life that ends so."""


class Promises:
    """What a store has promised by a moment of its life. `stored`: all that it ever puts, by place."""

    def __init__(self, events: list[Event]) -> None:
        # All of its life: a record is in its file a little before anybody is told where.
        self.stored: dict[tuple[str, int, int], list[Sent]] = {}
        for event in events:
            if isinstance(event, Noted) and isinstance(event.what, Stored):
                self.stored.setdefault(event.what.sent[:3], []).append(event.what.sent)
        self.acknowledged: list[Sent] = []
        self.flushed = 0
        self.cleaned = 0

    def take(self, what: Any) -> None:
        if isinstance(what, Acknowledged):
            self.acknowledged.append(what.sent)
        elif isinstance(what, Flushed):
            self.flushed = max(self.flushed, what.end)
        elif isinstance(what, Cleaning):
            self.cleaned = max(self.cleaned, what.start or 0)

    def kept(self) -> list[Sent]:
        """The messages that any disk must show."""
        flushed = (each for sent in self.stored.values() for each in sent if each.end <= self.flushed)
        kept = {each.start: each for each in flushed} | {each.start: each for each in self.acknowledged}
        return [each for start, each in sorted(kept.items()) if start >= self.cleaned]


class Life(NamedTuple):
    """A recorded life."""

    settings: StoreSettings
    events: list[Event]


def record(directory: Path, seed: int) -> Life:
    """Live the life of this seed in `directory`."""
    settings = small_settings(directory, seed)
    directory.mkdir(parents=True)
    events: list[Event] = []
    seam = Seam(directory, events.append)
    with stepped_threads(), seam.in_force():
        life = StoreLife(settings, seed, seam.note)
        life.run(Random(f"steps {seed}").randint(20, STEPS_MAX))
        life.end(orderly=Random(f"end {seed}").random() < 0.5)
    assert set(life.refused) <= {"MessageError"}, life.refused
    return Life(settings, _with_foresight(events))


def _with_foresight(events: list[Event]) -> list[Event]:
    """A clean-up that has begun may have done all that it is going to do."""
    seen, result = None, []
    for event in reversed(events):
        if isinstance(event, Noted) and isinstance(event.what, Cleaning):
            if event.what.start is None:
                event = Noted(Cleaning(seen))
            else:
                seen = event.what.start
        result.append(event)
    return result[::-1]


def crashes(
    events: list[Event], moments: set[int], chance: Random, each: int
) -> Iterator[tuple[Image, Promises]]:
    """`each` disks that each of the `moments` (numbers of events) could leave, and what was promised."""
    disk, promises = Disk(), Promises(events)
    for number, event in enumerate(events):
        if number in moments:
            for _ in range(each):
                yield disk.left(chance), promises
        disk.take(event)
        if isinstance(event, Noted):
            promises.take(event.what)


def images(directory: Path, seed: int) -> Cases:
    """What a loss of power at any moment of lives may leave, from the life of `seed` on, without an end.

    Lives are recorded below `directory`.
    """
    for number in count(seed):
        with TemporaryDirectory(dir=directory) as name:
            life = record(Path(name) / "life", number)
        chance = Random(f"moments {number}")
        moments = set(chance.sample(range(len(life.events)), min(len(life.events), MOMENTS)))
        found = crashes(life.events, moments, chance, IMAGES_OF_A_MOMENT)
        for at, (image, promises) in enumerate(found):
            name = f"image {at} ({image.how})"
            yield Case(number, name, _check(life, image, promises, Random(f"{number} {at}")))
            if chance.random() < STARTS_CUT_OFF:
                for again in _left_of_a_start(directory, life, image, chance):
                    how = f"{name}, its start cut off ({again.how})"
                    yield Case(number, how, _check(life, again, promises, Random(f"{number} {at}")))


def _left_of_a_start(directory: Path, life: Life, image: Image, chance: Random) -> Iterator[Image]:
    """What another loss of power may leave while a store starts on `image`."""
    events: list[Event] = []
    with TemporaryDirectory(dir=directory) as name:
        place = Path(name) / "store"
        lay_out(image, place)
        settings = attrs.evolve(life.settings, directory=place)
        with stepped_threads(), Seam(place, events.append).in_force():
            try:
                MessageStore.open(
                    settings,
                    ManualClock(IN_2100 + 10**9),
                    open_index=index_of(settings),
                    log_reading=LOG_READING,
                ).abandon()
            except StoreError:
                return  # the case itself tells
    begun = range(events.index(SyncedAll()) + 1, len(events))  # before that the disk is only described
    moments = set(chance.sample(begun, min(len(begun), 2)))
    for left, _ in crashes(events, moments, chance, 1):
        yield left


def _check(life: Life, image: Image, promises: Promises, chance: Random) -> Callable[[Path], None]:
    def run(place: Path) -> None:
        lay_out(image, place)
        StoreCheck(attrs.evolve(life.settings, directory=place), promises.kept(), promises.stored).run(chance)

    return run


def lay_out(image: Image, directory: Path) -> None:
    """Make the disk real, below `directory`."""
    directory.mkdir(parents=True)
    for folder in image.folders:
        (directory / folder).mkdir()
    for path, content in image.files.items():
        descriptor = os.open(directory / path, os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(descriptor, content.size)
        for page, data in content.pages.items():
            os.pwrite(descriptor, data[: max(0, content.size - page * PAGE)], page * PAGE)
        os.close(descriptor)
