"""A disk that loses power: what was written since, what of it may be left. Values in, values out.

A `Disk` takes the events of a run in their order and can say at any moment which states a power loss could
leave: what was synced is there, of the rest anything from nothing to all. The model is POSIX's and no file
system's: a name is durable when its directory was synced, a size and bytes when the file was. Three things
hold on real disks too, and are assumed:

- a sector of 512 bytes is written whole, as it was in memory at some moment;
- changes of one file's size are durable in their order, and what is written behind one that shrank the file
  is not there without it;
- a rename is one change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

SECTOR: Final = 512
PAGE: Final = 4096
ROOT: Final = 0
"""The number of the root directory."""
NEVER: Final = 1 << 62


class Made(NamedTuple):
    """File or directory `number` came to be; it has no name yet."""

    number: int
    is_directory: bool


class Wrote(NamedTuple):
    """`data` at byte `at` of a file."""

    number: int
    at: int
    data: bytes


class Sized(NamedTuple):
    """A file got `size` bytes."""

    number: int
    size: int


class Synced(NamedTuple):
    """A sync of a file or directory returned."""

    number: int


class SyncFailed(NamedTuple):
    """A sync of a file failed. The system forgets what it could not write: a later sync does not bring it."""

    number: int


class SyncedAll(NamedTuple):
    """A sync of the whole disk returned."""


class Named(NamedTuple):
    """`name` in `directory` means `number` from now on."""

    directory: int
    name: str
    number: int


class Unnamed(NamedTuple):
    """`name` in `directory` is gone."""

    directory: int
    name: str


class Renamed(NamedTuple):
    """`name` in `directory` became `new_name` in `new_directory`, of `number`."""

    directory: int
    name: str
    new_directory: int
    new_name: str
    number: int


class Noted(NamedTuple):
    """Something that the run has promised by now."""

    what: Any


Event = Made | Wrote | Sized | Synced | SyncFailed | SyncedAll | Named | Unnamed | Renamed | Noted
NameChange = Named | Unnamed | Renamed


class Content:
    """The bytes of a file, pages that were never written left out."""

    __slots__ = ("pages", "size")

    def __init__(self, size: int = 0, pages: dict[int, bytes] | None = None) -> None:
        self.size = size
        self.pages = pages or {}

    def copy(self) -> Content:
        return Content(self.size, dict(self.pages))

    def write(self, at: int, data: bytes) -> None:
        self.size = max(self.size, at + len(data))
        while data:
            page, within = divmod(at, PAGE)
            part = data[: PAGE - within]
            old = self.pages.get(page, bytes(PAGE))
            self.pages[page] = old[:within] + part + old[within + len(part) :]
            at += len(part)
            data = data[len(part) :]

    def resize(self, size: int) -> None:
        if size < self.size:
            last, within = divmod(size, PAGE)
            for page in [page for page in self.pages if page >= last]:
                if page == last and within:
                    self.pages[page] = self.pages[page][:within] + bytes(PAGE - within)
                else:
                    del self.pages[page]
        self.size = size

    def bytes(self) -> bytes:
        whole = bytearray(self.size)
        for page, data in self.pages.items():
            part = data[: max(0, self.size - page * PAGE)]
            whole[page * PAGE : page * PAGE + len(part)] = part
        return bytes(whole)


class Cuts(NamedTuple):
    """What of one file's unsynced changes is left.

    Changes are numbered in the order of the run. `size`: number of the first change of its size that is lost;
    `sector`: the same for what was written into each sector.
    """

    size: int
    sector: Callable[[int], int]


class _File:
    def __init__(self) -> None:
        self.durable = Content()
        self.pending: list[tuple[int, Wrote | Sized]] = []

    def left(self, cuts: Cuts) -> Content:
        """What is on disk when of `pending` only what `cuts` leave got there."""
        content = self.durable.copy()
        for number, event in self.pending:
            if isinstance(event, Sized):
                if number < cuts.size:
                    content.resize(event.size)
                elif event.size < content.size:
                    break
            else:
                data = event.data
                if number >= cuts.size:
                    data = data[: max(0, content.size - event.at)]
                _write_sectors(content, event.at, data, number, cuts.sector)
        return content

    def sync(self) -> None:
        self.durable = self.left(Cuts(NEVER, lambda _: NEVER))
        self.pending.clear()

    def numbers(self) -> list[int]:
        return [number for number, _ in self.pending]


def _write_sectors(content: Content, at: int, data: bytes, number: int, cut: Callable[[int], int]) -> None:
    content.size = max(content.size, at + len(data))
    first, last = at // SECTOR, (at + len(data) - 1) // SECTOR
    start = at
    for sector in range(first, last + 1):
        stop = min((sector + 1) * SECTOR, at + len(data))
        if number < cut(sector):
            content.write(start, data[start - at : stop - at])
        start = stop


class Image(NamedTuple):
    """A disk as it may be found: `folders` and `files` by path below its root; `how`: which kind of loss."""

    folders: list[str]
    files: dict[str, Content]
    how: str


class Disk:
    """Takes `events` in order; `left` tells what a loss of power at this moment may leave."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = {}
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._pending: list[tuple[int, NameChange]] = []
        self._count = 0

    def take(self, event: Event) -> None:
        """The next thing that happened."""
        self._count += 1
        if isinstance(event, Wrote | Sized):
            self._files[event.number].pending.append((self._count, event))
        elif isinstance(event, Made):
            if event.is_directory:
                self._names[event.number] = {}
            else:
                self._files[event.number] = _File()
        elif isinstance(event, Synced):
            self._sync(event.number)
        elif isinstance(event, SyncFailed):
            self._forget(event.number)
        elif isinstance(event, SyncedAll):
            self._sync_all()
        elif not isinstance(event, Noted):
            self._pending.append((self._count, event))

    def _sync(self, number: int) -> None:
        if number in self._files:
            self._files[number].sync()
            return
        waiting = self._pending
        self._pending = []
        for at, change in waiting:
            if number in _directories(change):
                _apply(self._names, change)
            else:
                self._pending.append((at, change))

    def _forget(self, number: int) -> None:
        if number in self._files:
            file = self._files[number]
            file.pending = [(at, event) for at, event in file.pending if isinstance(event, Sized)]

    def _sync_all(self) -> None:
        for file in self._files.values():
            file.sync()
        for _, change in self._pending:
            _apply(self._names, change)
        self._pending.clear()

    @property
    def unsynced(self) -> int:
        """How many changes a loss of power may undo now."""
        return len(self._pending) + sum(len(file.pending) for file in self._files.values())

    def left(self, chance: Random) -> Image:
        """One of the states that a loss of power at this moment may leave."""
        how_names = chance.choices(("no", "all", "first", "some"), (2, 4, 3, 1))[0]
        how_data = chance.choices(("no", "all", "first", "files", "sectors"), (2, 1, 3, 2, 5))[0]
        point = chance.randint(0, self._count + 1)
        names = {number: dict(names) for number, names in self._names.items()}
        for number, change in self._pending:
            if _is_kept(how_names, number, point, chance):
                _apply(names, change)
        files: dict[str, Content] = {}
        folders: list[str] = []
        for path, number in _paths(names):
            if number in names:
                folders.append(path)
            else:
                files[path] = self._files[number].left(self._cuts(how_data, number, point, chance))
        return Image(folders, files, f"{how_names} names, {how_data} data")

    def _cuts(self, how: str, number: int, point: int, chance: Random) -> Cuts:
        if how in ("no", "all", "first"):
            cut = {"no": 0, "all": NEVER, "first": point}[how]
            return Cuts(cut, lambda _: cut)
        numbers = [0, *self._files[number].numbers(), NEVER]
        if how == "files":
            cut = chance.choice(numbers)
            return Cuts(cut, lambda _: cut)
        cuts: dict[int, int] = {}
        rare = chance.random()

        def of_sector(sector: int) -> int:
            if sector not in cuts:
                cuts[sector] = chance.choice(numbers) if chance.random() < rare else NEVER
            return cuts[sector]

        return Cuts(chance.choice([*numbers, NEVER, NEVER]), of_sector)


def _is_kept(how: str, number: int, point: int, chance: Random) -> bool:
    return how == "all" or (how == "first" and number < point) or (how == "some" and chance.random() < 0.5)


def _directories(change: NameChange) -> tuple[int, ...]:
    return (change.directory, change.new_directory) if isinstance(change, Renamed) else (change.directory,)


def _apply(names: dict[int, dict[str, int]], change: NameChange) -> None:
    if isinstance(change, Named):
        names[change.directory][change.name] = change.number
    elif isinstance(change, Unnamed):
        names[change.directory].pop(change.name, None)
    else:
        if names[change.directory].get(change.name) == change.number:
            del names[change.directory][change.name]
        names[change.new_directory][change.new_name] = change.number


def _paths(
    names: dict[int, dict[str, int]], directory: int = ROOT, above: str = ""
) -> Iterator[tuple[str, int]]:
    for name, number in sorted(names[directory].items()):
        path = f"{above}{name}"
        yield path, number
        if number in names:
            yield from _paths(names, number, f"{path}/")
