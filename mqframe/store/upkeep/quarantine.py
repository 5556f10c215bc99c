"""What is taken out of a log: a copy of its bytes, and a report that says what they were (store.md §4)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from mqframe.core.storage.zeros import is_empty
from mqframe.store.files.descriptors import write_all
from mqframe.store.files.modes import file_mode
from mqframe.store.files.syncing import make_directories, sync_directory, write_durably

_COPIED_AT_ONCE: Final = 1 << 20


class LostEntries(msgspec.Struct, frozen=True):
    """Messages of one queue that cannot be read any more: queue offsets `start` to before `end`."""

    topic: str
    queue_id: int
    start: int
    end: int


class QuarantineReport(msgspec.Struct, frozen=True):
    """One stretch of the log that was set aside.

    `start`, `end`: log offsets; `unfinished`: whether it looks as an unfinished write does, not as damage;
    `copy`: name of the file with its bytes; `found_ms`: when; `after_ms`: store time of the record before it,
    0 if none was looked at; `queues`: the messages that queues had listed there; `fetched_ms`: when a slave
    got these bytes from its master again, 0: it did not.
    """

    start: int
    end: int
    unfinished: bool
    copy: str
    found_ms: int
    after_ms: int
    queues: list[LostEntries] = []
    fetched_ms: int = 0

    @property
    def records(self) -> int:
        """How many messages are known to have been there."""
        return sum(queue.end - queue.start for queue in self.queues)


class Quarantine:
    """The folder with the copies and reports of one store; made when something is set aside."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def copy(self, data: memoryview, start: int) -> str:
        """Keep `data`, which lies at log offset `start`; the name of its file, which is on disk then."""
        make_directories(self.directory)
        name, descriptor = self._new_file(start)
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                for at in range(0, len(data), _COPIED_AT_ONCE):
                    part = bytes(data[at : at + _COPIED_AT_ONCE])
                    if not is_empty(part):
                        write_all(file.fileno(), part, at)
                file.truncate(len(data))
                os.fsync(file.fileno())
        except OSError:
            (self.directory / name).unlink(missing_ok=True)
            raise
        sync_directory(self.directory)
        return name

    def _new_file(self, start: int) -> tuple[str, int]:
        number = 0
        while True:
            name = f"{start:020d}-{number}.bytes"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                return name, os.open(self.directory / name, flags, file_mode())
            except FileExistsError:
                number += 1

    def report(self, report: QuarantineReport) -> Path:
        """Write `report` beside its copy; the path."""
        path = self.directory / f"{report.copy.removesuffix('.bytes')}.json"
        write_durably(path, msgspec.json.format(msgspec.json.encode(report), indent=1))
        return path

    def reports(self) -> list[QuarantineReport]:
        """What was set aside so far, by log offset; reports that cannot be read are passed over."""
        found = []
        for path in sorted(self.directory.glob("*.json")) if self.directory.is_dir() else ():
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=QuarantineReport))
            except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
        return found
