"""Between the code under test and the operating system: records what is done to files, and lets calls fail.

While a `Seam` is in force, everything that this process does to files below its directory passes it, whoever
does it and with whatever call: through descriptors, `open`, `pathlib` or maps. What is written through a map
is found by comparing, sector by sector, before anything else is recorded: nobody knows more of its order.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from trust.disk import (
    ROOT,
    SECTOR,
    Event,
    Made,
    Named,
    Noted,
    Renamed,
    Sized,
    Synced,
    SyncedAll,
    SyncFailed,
    Unnamed,
    Wrote,
)

SHORT: Final = "short"
"""What `before` returns to have a write take only half."""

_real_open, _real_pread, _real_lseek = os.open, os.pread, os.lseek


class Seam:
    """Watches the files below `root`.

    `record` gets each event; `before`, called with the name of a call and the path, may raise OSError, or
    return `SHORT`.
    """

    def __init__(
        self,
        root: Path,
        record: Callable[[Event], None] = lambda event: None,
        before: Callable[[str, str], str | None] = lambda call, path: None,
    ) -> None:
        self.root = os.fspath(root)
        self._record = record
        self._before = before
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {self.root: ROOT}
        self._count = ROOT
        self._open: dict[int, tuple[str, int]] = {}
        self._maps: list[tuple[weakref.ref[mmap.mmap], _Mapped]] = []
        self._mapped: dict[int, _Mapped] = {}

    # What is there at the beginning

    def _begin(self) -> None:
        for folder, names, files in os.walk(self.root):
            for name in sorted(names):
                self._name_new(f"{folder}/{name}", is_directory=True)
            for name in sorted(files):
                number = self._name_new(f"{folder}/{name}", is_directory=False)
                for at, data, size in stretches(f"{folder}/{name}"):
                    self._record(Sized(number, size))
                    if data:
                        self._record(Wrote(number, at, data))
        self._record(SyncedAll())

    def _name_new(self, path: str, *, is_directory: bool) -> int:
        self._count += 1
        self._numbers[path] = self._count
        self._record(Made(self._count, is_directory))
        folder, name = os.path.split(path)
        self._record(Named(self._numbers[folder], name, self._count))
        return self._count

    # Recording

    def note(self, what: Any) -> None:
        """Record a promise of the run."""
        with self._lock:
            self.compare_maps()
            self.tell(Noted(what))

    def ask(self, call: str, path: str) -> str | None:
        """Before each call. Raises OSError when it is to fail."""
        self.compare_maps()
        return self._before(call, path.removeprefix(self.root))

    def tell(self, event: Event) -> None:
        """Record what was done."""
        self._record(event)
        if isinstance(event, Wrote | Sized) and event.number in self._mapped:
            self._mapped[event.number].done(event)

    def compare_maps(self) -> None:
        """Record what was written through maps since the last time."""
        for reference, mapped in list(self._maps):
            if reference() is None:
                self._maps.remove((reference, mapped))
            for event in mapped.changes():
                self._record(event)

    def place(self, path: Any, directory: int | None = None) -> str | None:
        """The path when it lies below the root."""
        if isinstance(path, int):
            return None
        text = os.fsdecode(path)
        if directory is not None:
            if directory not in self._open:
                return None
            text = f"{self._open[directory][0]}/{text}"
        text = os.path.abspath(text)
        return text if text == self.root or text.startswith(self.root + "/") else None

    def number_of(self, path: str) -> int | None:
        """The number of what is at `path`."""
        return self._numbers.get(path)

    def opened(self, descriptor: int, path: str, flags: int) -> None:
        """A file or directory was opened."""
        number = self._numbers.get(path)
        if number is None:
            number = self._name_new(path, is_directory=False)
        elif flags & os.O_TRUNC:
            self.tell(Sized(number, 0))
        self._open[descriptor] = (path, number)

    def closed(self, descriptor: int) -> None:
        """A descriptor is about to be closed."""
        self._open.pop(descriptor, None)

    def behind(self, descriptor: Any) -> tuple[str, int] | None:
        """Path and number of the file behind a descriptor."""
        return self._open.get(descriptor) if isinstance(descriptor, int) else None

    def made(self, path: str) -> None:
        """A directory was made."""
        self._name_new(path, is_directory=True)

    def linked(self, source: str, target: str) -> None:
        """A file got a second name."""
        self._numbers[target] = self._numbers[source]
        folder, name = os.path.split(target)
        self.tell(Named(self._numbers[folder], name, self._numbers[target]))

    def unnamed(self, path: str) -> None:
        """A name is gone."""
        folder, name = os.path.split(path)
        del self._numbers[path]
        self.tell(Unnamed(self._numbers[folder], name))

    def renamed(self, source: str, target: str) -> None:
        """A file or directory has another name."""
        for path in [path for path in self._numbers if path == source or path.startswith(source + "/")]:
            self._numbers[target + path[len(source) :]] = self._numbers.pop(path)
        (folder, name), (new_folder, new_name) = os.path.split(source), os.path.split(target)
        numbers = self._numbers
        self.tell(Renamed(numbers[folder], name, numbers[new_folder], new_name, numbers[target]))

    def mapped(self, target: mmap.mmap, descriptor: int, number: int) -> None:
        """A file was mapped to be written."""
        if number not in self._mapped:
            self._mapped[number] = _Mapped(number, descriptor)
        self._maps.append((weakref.ref(target), self._mapped[number]))

    @contextmanager
    def in_force(self) -> Iterator[Seam]:
        """Watch for as long as this lasts."""
        self._begin()
        opening = _opening(self)
        with (
            patch.multiple(os, **_calls(self)),
            patch.object(io, "open", opening),
            patch.object(builtins, "open", opening),
            patch.object(mmap, "mmap", _mapping(self)),
        ):
            yield self
        self.note(None)
        for mapped in self._mapped.values():
            os.close(mapped.descriptor)

    @property
    def lock(self) -> threading.RLock:
        """Held while a call is made and recorded, so that events have one order."""
        return self._lock


class _Mapped:
    """A file that was mapped, and what is known of its bytes. Reads see what was written through maps."""

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self.descriptor = os.dup(descriptor)
        self._known = bytearray(self._read())

    def _read(self) -> bytes:
        return _real_pread(self.descriptor, os.fstat(self.descriptor).st_size, 0)

    def changes(self) -> Iterator[Event]:
        """What was written through maps since the last time."""
        now = self._read()
        if self._known == now:
            return
        for at in range(0, len(now), SECTOR):
            if self._known[at : at + SECTOR] != now[at : at + SECTOR]:
                self._known[at : at + SECTOR] = now[at : at + SECTOR]
                yield Wrote(self.number, at, now[at : at + SECTOR])

    def done(self, event: Wrote | Sized) -> None:
        """This was done otherwise."""
        if isinstance(event, Wrote):
            self._known[event.at : event.at + len(event.data)] = event.data
        else:
            del self._known[event.size :]
            self._known += bytes(event.size - len(self._known))


def stretches(path: str) -> Iterator[tuple[int, bytes, int]]:
    """(first byte, bytes, size of the file) of what a sparse file holds; at least one, perhaps empty."""
    descriptor = _real_open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        yield 0, b"", size
        at = 0
        while at < size:
            try:
                at = _real_lseek(descriptor, at, os.SEEK_DATA)
            except OSError:
                return
            end = _real_lseek(descriptor, at, os.SEEK_HOLE)
            data = _real_pread(descriptor, end - at, at)
            if data.strip(b"\0"):
                yield at, data, size
            at = end
    finally:
        os.close(descriptor)


class _Raw(io.RawIOBase):
    """A file for writing whose writes go through `os.write`."""

    def __init__(self, descriptor: int, path: str, *, readable: bool) -> None:
        self._descriptor = descriptor
        self._readable = readable
        self.name = path

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return self._readable

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return os.lseek(self._descriptor, offset, whence)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        os.ftruncate(self._descriptor, size)
        return size

    def write(self, data: Any) -> int:
        return os.write(self._descriptor, bytes(data))

    def readinto(self, buffer: Any) -> int:
        data = os.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._descriptor)


_FLAGS: Final = {
    "w": os.O_CREAT | os.O_TRUNC,
    "a": os.O_CREAT | os.O_APPEND,
    "x": os.O_CREAT | os.O_EXCL,
    "r": 0,
}


def _opening(seam: Seam) -> Callable[..., Any]:
    real = io.open

    def opening(
        file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, *rest: Any, **more: Any
    ) -> Any:
        path = seam.place(file)
        own = seam.behind(file)
        writes = any(letter in mode for letter in "wax+")
        if not writes or (path is None and own is None):
            if path is not None:
                seam.ask("open", path)
            return real(file, mode, buffering, encoding, *rest, **more)
        reads = "+" in mode or "r" in mode
        if own is not None:
            raw = _Raw(file, own[0], readable=reads)
        else:
            kind = next(letter for letter in "waxr" if letter in mode)
            access = os.O_RDWR if reads else os.O_WRONLY
            flags = _FLAGS[kind] | access | os.O_CLOEXEC
            raw = _Raw(os.open(file, flags, 0o666), str(path), readable=reads)
        if "b" in mode and buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if reads else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding or "utf-8")

    return opening


def _mapping(seam: Seam) -> type[mmap.mmap]:
    class Mapped(mmap.mmap):
        def __new__(cls, descriptor: int, length: int, *args: Any, **more: Any) -> Any:
            behind = seam.behind(descriptor)
            if behind is not None:
                seam.ask("mmap", behind[0])
            made = super().__new__(cls, descriptor, length, *args, **more)
            if behind is not None and more.get("access", mmap.ACCESS_WRITE) == mmap.ACCESS_WRITE:
                seam.mapped(made, descriptor, behind[1])
            return made

        def close(self) -> None:
            with seam.lock:
                seam.compare_maps()
                super().close()

    return Mapped


def _calls(seam: Seam) -> dict[str, Callable[..., Any]]:
    """What stands for the functions of `os` meanwhile."""
    return {**_by_descriptor(seam), **_by_name(seam), **_readers(seam)}


def _by_descriptor(seam: Seam) -> dict[str, Callable[..., Any]]:
    real_open, real_close, real_lseek = os.open, os.close, os.lseek
    real_pwrite, real_write, real_sync = os.pwrite, os.write, os.sync
    real_truncate, real_allocate, real_sendfile = os.ftruncate, os.posix_fallocate, os.sendfile

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        place = seam.place(path, dir_fd)
        if place is None:
            return real_open(path, flags, mode, dir_fd=dir_fd)
        with seam.lock:
            seam.ask("open", place)
            descriptor = real_open(path, flags, mode, dir_fd=dir_fd)
            seam.opened(descriptor, place, flags)
            return descriptor

    def close(descriptor: int) -> None:
        with seam.lock:
            seam.closed(descriptor)
            real_close(descriptor)

    def writing(call: str, descriptor: int, data: Any, at: int | None) -> int:
        behind = seam.behind(descriptor)
        if behind is None:
            return real_write(descriptor, data) if at is None else real_pwrite(descriptor, data, at)
        raw = bytes(data)
        with seam.lock:
            if seam.ask(call, behind[0]) == SHORT and len(raw) > 1:
                raw = raw[: len(raw) // 2]
            if at is None:
                count = real_write(descriptor, raw)
                start = real_lseek(descriptor, 0, os.SEEK_CUR) - count
            else:
                start, count = at, real_pwrite(descriptor, raw, at)
            seam.tell(Wrote(behind[1], start, raw[:count]))
            return count

    def sizing(call: str, descriptor: int, make: Callable[[], Any], size: Callable[[], int]) -> None:
        behind = seam.behind(descriptor)
        if behind is None:
            make()
            return
        with seam.lock:
            seam.ask(call, behind[0])
            make()
            seam.tell(Sized(behind[1], size()))

    def truncate(descriptor: int, size: int) -> None:
        sizing("ftruncate", descriptor, lambda: real_truncate(descriptor, size), lambda: size)

    def allocate(descriptor: int, at: int, size: int) -> None:
        made = lambda: real_allocate(descriptor, at, size)  # noqa: E731
        sizing("posix_fallocate", descriptor, made, lambda: os.fstat(descriptor).st_size)

    def syncing(call: str) -> Callable[[int], None]:
        real = getattr(os, call)

        def sync(descriptor: int) -> None:
            behind = seam.behind(descriptor)
            if behind is None:
                real(descriptor)
                return
            with seam.lock:
                try:
                    seam.ask(call, behind[0])
                except OSError:
                    seam.tell(SyncFailed(behind[1]))
                    raise
                seam.tell(Synced(behind[1]))

        return sync

    def sync_all() -> None:
        with seam.lock:
            seam.ask("sync", seam.root)
            seam.tell(SyncedAll())

    def sendfile(target: int, *rest: Any, **more: Any) -> int:
        if seam.behind(target) is not None:
            raise OSError(errno.EINVAL, "writes are to be seen")
        return real_sendfile(target, *rest, **more)

    del real_sync
    return {
        "open": open_,
        "close": close,
        "pwrite": lambda descriptor, data, at: writing("pwrite", descriptor, data, at),
        "write": lambda descriptor, data: writing("write", descriptor, data, None),
        "ftruncate": truncate,
        "posix_fallocate": allocate,
        "fsync": syncing("fsync"),
        "fdatasync": syncing("fdatasync"),
        "sync": sync_all,
        "sendfile": sendfile,
    }


def _by_name(seam: Seam) -> dict[str, Callable[..., Any]]:
    real_mkdir, real_link, real_rename = os.mkdir, os.link, os.rename

    def removing(call: str) -> Callable[..., None]:
        real = getattr(os, call)

        def remove(path: Any, *, dir_fd: int | None = None) -> None:
            place = seam.place(path, dir_fd)
            if place is None:
                real(path, dir_fd=dir_fd)
                return
            with seam.lock:
                seam.ask(call, place)
                real(path, dir_fd=dir_fd)
                seam.unnamed(place)

        return remove

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        place = seam.place(path, dir_fd)
        with seam.lock:
            if place is not None:
                seam.ask("mkdir", place)
            real_mkdir(path, mode, dir_fd=dir_fd)
            if place is not None:
                seam.made(place)

    def rename(source: Any, target: Any, **more: Any) -> None:
        old, new = seam.place(source), seam.place(target)
        with seam.lock:
            if old is not None:
                seam.ask("rename", old)
            real_rename(source, target, **more)
            if old is not None and new is not None:
                seam.renamed(old, new)

    def link(source: Any, target: Any, **more: Any) -> None:
        old, new = seam.place(source), seam.place(target)
        with seam.lock:
            if old is not None:
                seam.ask("link", old)
            real_link(source, target, **more)
            if old is not None and new is not None:
                seam.linked(old, new)

    return {
        "mkdir": mkdir,
        "rename": rename,
        "replace": rename,
        "link": link,
        "unlink": removing("unlink"),
        "remove": removing("unlink"),
        "rmdir": removing("rmdir"),
    }


def _readers(seam: Seam) -> dict[str, Callable[..., Any]]:
    def reading(call: str) -> Callable[..., Any]:
        real = getattr(os, call)

        def read(descriptor: int, *rest: Any) -> Any:
            behind = seam.behind(descriptor)
            if behind is not None:
                seam.ask(call, behind[0])
            return real(descriptor, *rest)

        return read

    def listing(call: str) -> Callable[..., Any]:
        real = getattr(os, call)

        def entries(path: Any = ".") -> Any:
            place = seam.place(path)
            if place is not None:
                seam.ask(call, place)
            return real(path)

        return entries

    return {
        **{call: reading(call) for call in ("pread", "preadv", "read")},
        **{call: listing(call) for call in ("scandir", "listdir")},
    }
