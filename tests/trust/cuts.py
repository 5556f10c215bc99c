"""Cuts of a broker's log anywhere in it: what lay before is there, comes when it is due, and is popped.

So it is when the power fails in the middle of the cut: the next start finishes it, or it never began.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.cutting import cut_log
from mqframe_testing.manual_clock import ManualClock
from trust.broker_crashes import NAME, BrokerCheck, BrokerPromises
from trust.broker_life import BrokerLife, Comes, Sent, cluster_at, one_thread
from trust.checks import Broken
from trust.crashes import lay_out
from trust.disk import Disk, Event, Image
from trust.seam import Seam
from trust.series import Case, Cases

from mqframe.hooks.manager import PluginManager
from mqframe.store.files.layout import Layout
from mqframe.store.upkeep.cuts import cuts

STEPS: Final = 120
CUTS_OF_A_LIFE: Final = 4
IMAGES_OF_A_CUT: Final = 3


class Life(NamedTuple):
    """A broker that has lived below `directory`: what it promised, each with the log's end at that moment."""

    directory: Path
    promises: list[tuple[int, Any]]

    def before(self, offset: int) -> BrokerPromises:
        """What is promised of a log that ends at `offset`; topics, and how far groups were, are not cut."""
        found = BrokerPromises()
        for end, what in self.promises:
            if end <= offset or not isinstance(what, Sent | Comes):
                found.take(what)
        return found

    def boundaries(self) -> list[int]:
        """Where it may be cut."""
        with ClosedLog(Layout(self.directory / NAME)) as log:
            return [record.physical_offset for file in log.files for record in log.records(file)]


def live(directory: Path, seed: int) -> Life:
    """Live the life of this seed below `directory`, to an end in order, or not."""
    promises: list[tuple[int, Any]] = []

    async def run() -> None:
        async with cluster_at(directory, seed, ManualClock()) as cluster:

            def note(what: Any) -> None:
                promises.append((cluster.broker.store.log.max_offset, what))

            await BrokerLife(cluster, seed, note).run(STEPS)
            if Random(f"end {seed}").random() < 0.5:
                await cluster.kill_broker()

    with one_thread():
        asyncio.run(run())
    return Life(directory, promises)


def broker_cuts(directory: Path, seed: int) -> Cases:
    """Cuts of the logs of lives from that of `seed` on, without an end."""
    for number in count(seed):
        with TemporaryDirectory(dir=directory) as name:
            life = live(Path(name), number)
            places = life.boundaries()
            chance = Random(f"cuts {number}")
            for offset in chance.sample(places, min(CUTS_OF_A_LIFE, len(places))):
                yield Case(number, f"cut at {offset}", _cut(number, life, offset))
                for image in _left(life, offset, chance):
                    how = f"power lost in a cut at {offset} ({image.how})"
                    yield Case(number, how, _started(number, life, offset, image))


def _cut(seed: int, life: Life, offset: int) -> Callable[[Path], None]:
    def run(place: Path) -> None:
        shutil.copytree(life.directory, place)
        cut_log(place / NAME, offset, PluginManager().cut_backs(), why="a test", now_ms=1)
        _check(seed, life, offset, place)

    return run


def _left(life: Life, offset: int, chance: Random) -> list[Image]:
    """What a loss of power may leave at some moments of a cut."""
    events: list[Event] = []
    with TemporaryDirectory(dir=life.directory.parent) as name:
        root = Path(name) / NAME
        shutil.copytree(life.directory / NAME, root)
        seam = Seam(root, events.append)
        with seam.in_force():
            begun = len(events)
            cut_log(root, offset, PluginManager().cut_backs(), why="a test", now_ms=1)
    moments = set(chance.sample(range(begun, len(events)), min(IMAGES_OF_A_CUT, len(events) - begun)))
    disk, images = Disk(), []
    for number, event in enumerate(events):
        if number in moments:
            images.append(disk.left(chance))
        disk.take(event)
    return images


def _started(seed: int, life: Life, offset: int, image: Image) -> Callable[[Path], None]:
    def run(place: Path) -> None:
        lay_out(image, place / NAME)
        _check(seed, life, offset, place)

    return run


def _check(seed: int, life: Life, offset: int, place: Path) -> None:
    before = life.before(offset)
    with one_thread():
        asyncio.run(BrokerCheck(seed, before).run(place))
    for cut in cuts(Layout(place / NAME)):
        if not cut.done:
            raise Broken("a cut is not finished", f"at {cut.start}")
        size = (place / NAME / "cut" / cut.file).stat().st_size
        if size != cut.end - cut.start:
            raise Broken("what was cut is not kept whole", f"{size} bytes from {cut.start} to {cut.end}")
