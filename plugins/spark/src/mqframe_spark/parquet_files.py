"""Parquet files that appear all at once, and whose names say which stretch of the log they hold.

    <root>/<topic>/day=<YYYY-MM-DD>/<broker>-<store>-<start>-<end>.parquet

`start` is the commit-log offset of the first message, `end` that after the last one, 20 digits each. `store`
names the store directory, so that offsets of a store that was made anew are not taken for those of the old.
A file under way has a name that begins with a dot, which Spark passes over.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

STORE_ID_FILE: Final = "parquet-dispatcher.id"
_TEMPORARY: Final = ".tmp"
_DAY: Final = "day="


class Slot(NamedTuple):
    """Where a message goes: its topic, and the UTC day on which it was stored."""

    topic: str
    day: str


def store_id(data_directory: Path) -> str:
    """Eight hexadecimal digits that stay with `data_directory`; made, and flushed, when first asked for."""
    path = data_directory / STORE_ID_FILE
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        made = uuid.uuid4().hex[:8]
        _publish(path, (made + "\n").encode())
        return made


class ParquetFolder:
    """The files of one broker's store below `root`. `compression`: as pyarrow takes it."""

    def __init__(self, root: Path, broker: str, store: str, compression: str) -> None:
        self._root = root
        self._prefix = f"{broker}-{store}-"
        self._compression = compression
        self._name = re.compile(re.escape(self._prefix) + r"(\d{20})-(\d{20})\.parquet")

    def published(self) -> dict[Slot, int]:
        """Up to which commit-log offset each slot is published. Remains of unfinished files are deleted."""
        ends: dict[Slot, int] = {}
        for folder in self._root.glob(f"*/{_DAY}*"):
            slot = Slot(folder.parent.name, folder.name.removeprefix(_DAY))
            for path in folder.iterdir():
                if path.name.startswith("." + self._prefix) and path.name.endswith(_TEMPORARY):
                    path.unlink()
                elif found := self._name.fullmatch(path.name):
                    ends[slot] = max(ends.get(slot, 0), int(found[2]))
        return ends

    def expire(self, day: str) -> None:
        """Delete this store's files of the days before `day`, and folders that are empty then."""
        for folder in self._root.glob(f"*/{_DAY}*"):
            if folder.name.removeprefix(_DAY) < day:
                for path in folder.iterdir():
                    if self._name.fullmatch(path.name):
                        path.unlink()
                with contextlib.suppress(OSError):  # another store's files may be in it
                    folder.rmdir()

    def publish(self, slot: Slot, start: int, end: int, table: pa.Table) -> Path:
        """Write `table`, flush it, and only then give it its name. Raises `OSError`."""
        folder = self._root / slot.topic / f"{_DAY}{slot.day}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._prefix}{start:020d}-{end:020d}.parquet"
        told = {"mqframe.topic": slot.topic, "mqframe.start": str(start), "mqframe.end": str(end)}
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(told), sink, compression=self._compression)
        _publish(path, sink.getvalue())
        return path


def _publish(path: Path, content: bytes | pa.Buffer) -> None:
    temporary = path.with_name(f".{path.name}{_TEMPORARY}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    # The name lasts only once the folder is on the disk, too.
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
