"""The files of accounts of RocketMQ 4.9: one, and a folder of more, read again when they change.

Source: PlainPermissionManager.java of 4.9.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import attrs

from mqframe.core.clock import Clock
from mqframe.core.errors import SettingError
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_acl.plain_file import BYTES_MAX, VERSION, Account, Plain, Table, plain_of, table_of, text_of

log = get_logger("access")

FILES_MAX: Final = 1000
"""Most files of a folder, those below it included."""
SMALL_BYTES: Final = 32 * 1024
"""Files that have no more together are read in 20 ms, at once; more than that in a thread."""
_SUFFIXES: Final = (".yml", ".yaml")
Stamps = Mapping[Path, tuple[int, ...] | None]


@attrs.frozen
class Plains:
    """What all files say together: `accounts` by key, `places`: the file of each; `files`: each alone."""

    files: Mapping[Path, Plain] = attrs.field(factory=dict)
    accounts: Mapping[str, Account] = attrs.field(factory=dict)
    places: Mapping[str, Path] = attrs.field(factory=dict)


class PlainFiles:
    """The file `main` and those in `folder`, which need not be there, looked at every `seconds`.

    Of accounts with the same key that of the folder counts, and of those the first by the path of its file.
    What is wrong with any file leaves all as they were, and so does what is still being read. Raises
    `SettingError` when they cannot be used at first.
    """

    def __init__(self, main: Path, folder: Path, clock: Clock, seconds: float) -> None:
        self.main = main.absolute()
        self._folder, self._clock, self._seconds = folder.absolute(), clock, seconds
        self._unread = Trouble(log, clock.monotonic, level=logging.ERROR)
        self._one = threading.Lock()
        self._reading: asyncio.Future[None] | None = None
        self._stamps = self._stamps_now()
        self._current = self._read(self._stamps)
        self._next = clock.monotonic() + seconds

    @property
    def current(self) -> Plains:
        """What the files say, or said when all were right for the last time.

        What changed counts at once when it is small. Many accounts are read in a thread of the running loop.
        """
        now = self._clock.monotonic()
        # Whoever reads or changes them now is not waited for.
        if now >= self._next and self._one.acquire(blocking=False):
            try:
                self._next = now + self._seconds
                is_done = self._look(SMALL_BYTES)
            finally:
                self._one.release()
            if not is_done:
                self._reading = asyncio.get_running_loop().run_in_executor(None, self._look_aside)
        return self._current

    async def settled(self) -> None:
        """Wait until what is being read in a thread counts, or turned out to be wrong."""
        if self._reading is not None:
            await asyncio.shield(self._reading)

    def table(self, path: Path) -> Table:
        """What stands in a file now. Raises `SettingError`."""
        try:
            return table_of(_text(path))
        except ValueError as problem:
            raise SettingError(f"{path}: {problem}") from None

    async def change(self, path: Path, edit: Callable[[Table], None]) -> None:
        """Replace a file by what `edit` makes of it, durably; it counts when this returns.

        `edit` runs in a thread. Raises `SettingError` for what it may not say, and `OSError`; the former
        one is in place then.
        """
        await asyncio.to_thread(self._change, path, edit)

    def _change(self, path: Path, edit: Callable[[Table], None]) -> None:
        with self._one:
            self._replace(path, edit)
            self._stamps = self._stamps_now()
            self._current = self._read(self._stamps)

    def _replace(self, path: Path, edit: Callable[[Table], None]) -> None:
        table = self.table(path)
        edit(table)
        try:
            before = plain_of({VERSION: table.get(VERSION)})
            version = {"counter": before.changes + 1, "timestamp": self._clock.now_ms()}
            table[VERSION] = [version]
            text = text_of(table)
            plain_of(table_of(text))
        except ValueError as problem:
            raise SettingError(f"{path}: {problem}") from None
        _replace(path, text)

    def _look_aside(self) -> None:
        with self._one:
            self._look(math.inf)

    def _look(self, bytes_max: float) -> bool:
        """Read what changed; `False`: nothing was, as the files have more than `bytes_max` bytes together."""
        try:
            stamps = self._stamps_now()
            if stamps == self._stamps:
                return True
            if sum(stamp[1] for stamp in stamps.values() if stamp) > bytes_max:
                return False
            self._stamps = stamps
            current = self._read(stamps)
            for path, stamp in stamps.items():
                if stamp and not stamp[1] and self._current.files.get(path, Plain()) != Plain():
                    # Whoever writes in place is not done yet.
                    raise SettingError(f"{path} is empty now; to take all out of it write accounts: []")
            self._current = current
        except SettingError as problem:
            event = "accounts cannot be read; those from before stay in force"
            self._unread.note(event, kind=str(problem), problem=str(problem))
        else:
            told = {"file": str(self.main), "accounts": len(current.accounts)}
            if not self._unread.over("accounts read again", **told):
                log.info("accounts read again", **told)
        return True

    def _stamps_now(self) -> Stamps:
        """What tells of a change, by path, in the order in which files count. Raises `SettingError`."""
        found = sorted(path for path in self._folder.rglob("*") if self._counts(path))
        if len(found) > FILES_MAX:
            raise SettingError(f"{self._folder} holds more than {FILES_MAX} files of accounts")
        return {path: _stamp(path) for path in dict.fromkeys([*found, self.main])}

    def _counts(self, path: Path) -> bool:
        hidden = any(part.startswith(".") for part in path.relative_to(self._folder).parts)
        return path.suffix in _SUFFIXES and not hidden and path.is_file()

    def _read(self, stamps: Stamps) -> Plains:
        files: dict[Path, Plain] = {}
        accounts: dict[str, Account] = {}
        places: dict[str, Path] = {}
        for path in stamps:
            try:
                files[path] = plain_of(self.table(path))
            except ValueError as problem:
                raise SettingError(f"{path}: {problem}") from None
            for key, account in files[path].accounts.items():
                if key in accounts:
                    log.warning(
                        "account stands in two files", key=key, counts=str(places[key]), not_in=str(path)
                    )
                else:
                    accounts[key], places[key] = account, path
        return Plains(files, accounts, places)


def _text(path: Path) -> str:
    """Raises `SettingError`, and ValueError for what is no text."""
    try:
        with path.open("rb") as file:
            return file.read(BYTES_MAX + 1).decode()
    except OSError as problem:
        raise SettingError(f"{path} cannot be read: {problem.strerror}") from None


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _replace(path: Path, text: str) -> None:
    """Raises OSError; the file is as it was then."""
    target = Path(os.path.realpath(path))
    descriptor, fresh = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, target.stat().st_mode & 0o7777)
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
        os.replace(fresh, target)
    except BaseException:
        os.unlink(fresh)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
