"""Damage to the files of a stopped store: what media, controllers and people do to them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import attrs
from trust.checks import Broken, StoreCheck
from trust.crashes import Life, Promises, record
from trust.disk import NEVER, PAGE, SECTOR, Noted
from trust.life import Sent
from trust.seam import stretches
from trust.series import Case, Cases

DAMAGES_OF_A_LIFE: Final = 40

FULL_OF_USE: Final = 0.9
"""How much of the damage hits bytes that were ever written."""
DERIVED: Final = ("consumequeue", "index")
"""Folders whose files are built again when they are gone."""


class Damage(NamedTuple):
    """Bytes [start, end) of the file at `path`, below the store, are not what they were."""

    how: str
    path: str
    ranges: tuple[tuple[int, int], ...]

    def hits(self, sent: Sent) -> bool:
        """Whether a byte of this message's record is concerned."""
        folder, _, name = self.path.partition("/")
        if folder != "commitlog" or not name.isdecimal():
            return False
        base = int(name)
        return any(sent.start < base + end and sent.end > base + start for start, end in self.ranges)


def damages(directory: Path, seed: int) -> Cases:
    """Damage to stores that lived the lives from `seed` on, without an end. They are kept in `directory`."""
    for number in count(seed):
        with TemporaryDirectory(dir=directory) as name:
            store = Path(name) / "life"
            life = record(store, number)
            promises = Promises(life.events)
            for event in life.events:
                if isinstance(event, Noted):
                    promises.take(event.what)
            # Nothing was lost but what is damaged now: all that was ever written is there.
            promises.flushed = NEVER
            for at in range(DAMAGES_OF_A_LIFE):
                yield Case(number, f"damage {at}", _check(life, store, promises, Random(f"{number} {at}")))


def _check(life: Life, store: Path, promises: Promises, chance: Random) -> Callable[[Path], None]:
    def run(place: Path) -> None:
        shutil.copytree(store, place)
        done = damage(place, chance)
        settings = attrs.evolve(life.settings, directory=place)
        try:
            StoreCheck(settings, promises.kept(), promises.stored, done.hits).run(chance)
        except Broken as broken:
            raise Broken(broken.kind, f"{done}: {broken}") from broken

    return run


def damage(store: Path, chance: Random) -> Damage:
    """Damage one file below `store`."""
    kinds = sorted({path.relative_to(store).parts[0] for path in store.rglob("*") if path.is_file()})
    kind = chance.choice([*kinds, "commitlog", "commitlog"])
    files = sorted(
        path for path in store.rglob("*") if path.is_file() and path.relative_to(store).parts[0] == kind
    )
    path = chance.choice(files)
    name = path.relative_to(store).as_posix()
    ways = [_flip, _flip, _lose_page, _lose_sector, _double, _swap]
    if kind in DERIVED:
        ways += [_remove, _shorten, _remove_all]
    way = chance.choice(ways)
    return Damage(way.__name__.strip("_"), name, tuple(way(path, chance)))


def _flip(path: Path, chance: Random) -> list[tuple[int, int]]:
    raw = bytearray(path.read_bytes())
    if not raw:
        return []
    at = _place(path, raw, chance)
    raw[at] ^= 1 << chance.randrange(8)
    path.write_bytes(raw)
    return [(at, at + 1)]


def _place(path: Path, raw: bytearray, chance: Random) -> int:
    used = [(at, at + len(data)) for at, data, _ in stretches(str(path)) if data.strip(b"\0")]
    if used and chance.random() < FULL_OF_USE:
        at, end = chance.choice(used)
        end = at + len(raw[at:end].rstrip(b"\0"))
        return chance.randrange(at, max(at + 1, end))
    return chance.randrange(len(raw))


def _lose_page(path: Path, chance: Random) -> list[tuple[int, int]]:
    return _lose(path, chance, PAGE)


def _lose_sector(path: Path, chance: Random) -> list[tuple[int, int]]:
    return _lose(path, chance, SECTOR)


def _lose(path: Path, chance: Random, size: int) -> list[tuple[int, int]]:
    raw = bytearray(path.read_bytes())
    if not raw:
        return []
    start = _place(path, raw, chance) // size * size
    end = min(start + size, len(raw))
    raw[start:end] = bytes(end - start)
    path.write_bytes(raw)
    return [(start, end)]


def _pages(path: Path, raw: bytearray, chance: Random) -> tuple[int, int]:
    """The first bytes of two pages."""
    count = len(raw) // PAGE
    first = min(_place(path, raw, chance) // PAGE, count - 1)
    return first * PAGE, (first + chance.choice((1, -1, chance.randrange(count)))) % count * PAGE


def _double(path: Path, chance: Random) -> list[tuple[int, int]]:
    raw = bytearray(path.read_bytes())
    if len(raw) < 2 * PAGE:
        return _flip(path, chance)
    first, second = _pages(path, raw, chance)
    raw[second : second + PAGE] = raw[first : first + PAGE]
    path.write_bytes(raw)
    return [(second, second + PAGE)]


def _swap(path: Path, chance: Random) -> list[tuple[int, int]]:
    raw = bytearray(path.read_bytes())
    if len(raw) < 2 * PAGE:
        return _flip(path, chance)
    first, second = _pages(path, raw, chance)
    kept = raw[first : first + PAGE]
    raw[first : first + PAGE] = raw[second : second + PAGE]
    raw[second : second + PAGE] = kept
    path.write_bytes(raw)
    return [(first, first + PAGE), (second, second + PAGE)]


def _shorten(path: Path, chance: Random) -> list[tuple[int, int]]:
    raw = path.read_bytes()
    size = chance.randrange(len(raw) + 1)
    path.write_bytes(raw[:size])
    return [(size, len(raw))]


def _remove(path: Path, chance: Random) -> list[tuple[int, int]]:
    size = path.stat().st_size
    path.unlink()
    return [(0, size)]


def _remove_all(path: Path, chance: Random) -> list[tuple[int, int]]:
    size = path.stat().st_size
    folder = next(parent for parent in path.parents if parent.name in DERIVED)
    shutil.rmtree(folder)
    return [(0, size)]
