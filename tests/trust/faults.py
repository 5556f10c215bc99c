"""A life in which one call to the operating system fails, and what has to hold afterwards."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import attrs
from trust.checks import Broken, StoreCheck
from trust.crashes import Promises, crashes, lay_out
from trust.disk import NEVER, Event, Noted
from trust.life import StoreLife, small_settings, stepped_threads
from trust.seam import SHORT, Seam
from trust.series import Case, Cases

from mqframe.core.errors import MqframeError

STEPS: Final = 80
STALL: Final = "stall"
_WRITES: Final = (errno.EIO, errno.ENOSPC, SHORT)
_NAMES: Final = (errno.EIO, errno.ENOSPC)
WAYS: Final[dict[str, tuple[int | str, ...]]] = {
    "open": (errno.EIO, errno.ENOSPC, errno.EMFILE),
    "pwrite": _WRITES,
    "write": _WRITES,
    "ftruncate": _NAMES,
    "posix_fallocate": _NAMES,
    "fsync": (errno.EIO, errno.ENOSPC, STALL),
    "fdatasync": (errno.EIO, errno.ENOSPC, STALL),
    "sync": (STALL,),
    "mmap": (errno.ENOMEM,),
    "mkdir": _NAMES,
    "rename": _NAMES,
    "link": _NAMES,
    "unlink": (errno.EIO,),
    "rmdir": (errno.EIO,),
    "pread": (errno.EIO,),
    "preadv": (errno.EIO,),
    "read": (errno.EIO,),
    "scandir": (errno.EIO, errno.EMFILE),
    "listdir": (errno.EIO, errno.EMFILE),
}
"""How each call can fail."""


class Failing:
    """Lets call number `at` fail, and the `more` calls of the same name behind it.

    `calls`: how many there were; `failed`: what failed, in words. `at` None: none fails.
    """

    def __init__(self, at: int | None, chance: Random) -> None:
        self.at = at
        self.calls = 0
        self.failed = ""
        self.on_stall: Callable[[], None] = lambda: None
        self._chance = chance
        self._more = chance.choice((0, 0, 0, 3, 1000))
        self._way: int | str = ""
        self._call = ""

    def before(self, call: str, path: str) -> str | None:
        """What a `Seam` asks before each call."""
        self.calls += 1
        if self.at is None or self.calls - 1 < self.at:
            return None
        if self.calls - 1 == self.at:
            self._call, self._way = call, self._chance.choice(WAYS[call])
            name = errno.errorcode[self._way] if isinstance(self._way, int) else self._way
            self.failed = f"{call} of {path}: {name}, {self._more} more"
        elif call != self._call or not self._more:
            return None
        else:
            self._more -= 1
        if isinstance(self._way, int):
            raise OSError(self._way, os.strerror(self._way), path)
        if self._way == STALL:
            self.on_stall()
        return SHORT if self._way == SHORT else None


class Ended(NamedTuple):
    """A life with a fault: what was done, how many calls there were, what failed."""

    events: list[Event]
    calls: int
    failed: str


def live(directory: Path, seed: int, at: int | None) -> Ended:
    """The life of `seed` in `directory`, in which call number `at` fails. Raises `Broken`."""
    settings = small_settings(directory, seed)
    directory.mkdir(parents=True)
    events: list[Event] = []
    failing = Failing(at, Random(f"fault {seed} {at}"))
    seam = Seam(directory, events.append, failing.before)
    with stepped_threads(), seam.in_force():
        life = StoreLife(settings, seed, seam.note)

        def stall() -> None:
            life.stalled = 60

        failing.on_stall = stall
        try:
            life.run(STEPS)
            life.settle()
        except OSError as problem:
            raise Broken("an error that is not ours", f"{failing.failed}: {problem!r}") from problem
        except MqframeError:
            pass
        unanswered = set(life.unanswered)
        life.end(orderly=False)
    if unanswered:
        raise Broken("a send is never answered", f"{failing.failed}: {sorted(unanswered)}")
    return Ended(events, failing.calls, failing.failed)


def check(directory: Path, seed: int, at: int | None) -> Ended:
    """One case: live, then see what is left after a kill and after a loss of power. Raises `Broken`."""
    ended = live(directory / "life", seed, at)
    settings = small_settings(directory / "life", seed)
    chance = Random(f"after {seed} {at}")
    promises = Promises(ended.events)
    for event in ended.events:
        if isinstance(event, Noted):
            promises.take(event.what)
    try:
        last = len(ended.events) - 1
        for image, promised in crashes(ended.events, {last}, chance, 2):
            place = directory / "image"
            lay_out(image, place)
            there = attrs.evolve(settings, directory=place)
            StoreCheck(there, promised.kept(), promised.stored).run(chance)
            shutil.rmtree(place)
        if settings.flush != "SYNC_FLUSH":
            promises.flushed = NEVER  # answered is what is in the log
        StoreCheck(settings, promises.kept(), promises.stored).run(chance)
    except Broken as problem:
        raise Broken(problem.kind, f"{ended.failed}: {problem}") from problem
    return ended


def faults(directory: Path, seed: int) -> Cases:
    """Each call of the lives from `seed` on fails once, without an end."""
    for number in count(seed):
        with TemporaryDirectory(dir=directory) as name:
            calls = live(Path(name) / "life", number, None).calls
        # In an order in which a short series sees calls from everywhere.
        for at in Random(f"order {number}").sample(range(calls), calls):
            yield Case(number, f"call {at}", _check(number, at))


def _check(seed: int, at: int) -> Callable[[Path], None]:
    def run(place: Path) -> None:
        check(place, seed, at)

    return run
