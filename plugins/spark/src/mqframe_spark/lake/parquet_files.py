"""Parquet files that appear all at once, and whose names say which stretch of the log they hold.

    <root>/<topic>/day=<YYYY-MM-DD>/<broker>-<store>-<start>-<end>.parquet

`start` is the commit-log offset of the first message, `end` that after the last one, 20 digits each. `store`
names the store directory, so that offsets of a store that was made anew are not taken for those of the old.
A file under way has a name that begins with a dot, which Spark passes over; so does the one that tells how
far each slot is, `<root>/.<broker>-<store>.progress`. One that several were
put together in has such a name, too.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from mqframe.log import get_logger
from mqframe_spark.durable_file import TEMPORARY, write_durably
from mqframe_spark.lake.day_folders import DAY_PREFIX, writing
from mqframe_spark.lake.landing import Slot
from mqframe_spark.lake.slot_ends import SlotEnds

log: Final = get_logger("spark")

WRITTEN: Final[dict[str, Any]] = {
    # Dictionaries are tried only where values repeat; offsets are stored as differences.
    "use_dictionary": [
        "topic", "broker", "queue_id", "tags", "keys", "properties.key_value.key",
        "properties.key_value.value", "flag", "sys_flag", "born_timestamp", "store_timestamp", "born_host",
        "store_host", "reconsume_times",
    ],
    "column_encoding": {"queue_offset": "DELTA_BINARY_PACKED", "commitlog_offset": "DELTA_BINARY_PACKED"},
    # Smallest and largest values let readers pass over row groups; of bodies they would be of no use.
    "write_statistics": [
        "queue_id", "queue_offset", "commitlog_offset", "msg_id", "unique_key", "tags", "keys",
        "born_timestamp", "store_timestamp",
    ],
}  # fmt: skip
"""How columns are written, as pyarrow takes it."""


class _File(NamedTuple):
    end: int
    path: Path
    slot: Slot


class ParquetFolder:
    """The files of one broker's store below `root`, a `Landing`.

    `compression`: as pyarrow takes it; `size_bytes_max`: of all files together, the oldest go first, the last
    one stays; 0: no limit.
    """

    def __init__(
        self, root: Path, broker: str, store: str, compression: str, size_bytes_max: int = 0
    ) -> None:
        self._root = root
        self._prefix = f"{broker}-{store}-"
        self._compression = compression
        self._size_bytes_max = size_bytes_max
        self._size_bytes = 0
        self._name = re.compile(re.escape(self._prefix) + r"(\d{20})-(\d{20})\.parquet")
        self._ends = SlotEnds(root / f".{broker}-{store}.progress")

    def slot(self, topic: str, day: str) -> Slot:
        """A folder for each topic and day."""
        return Slot(topic, day)

    def published(self) -> dict[Slot, int]:
        """What was kept, and what the newest files say. Remains of unfinished files are deleted."""
        ends = self._ends.load()
        for path in self._root.glob(f"*/{DAY_PREFIX}*/.{self._prefix}*{TEMPORARY}"):
            path.unlink(missing_ok=True)
        for file in self._files():
            ends[file.slot] = max(ends.get(file.slot, 0), file.end)
        self._measure()
        return ends

    def end(self, slot: Slot) -> int:
        """What the newest file of the folder says."""
        return max((file.end for file in self._in(self._folder(slot), slot)), default=0)

    def publish(self, slot: Slot, start: int, end: int, table: pa.Table) -> str:
        """Write `table`, flush it, and only then give it its name."""
        folder = self._folder(slot)
        path = folder / f"{self._prefix}{start:020d}-{end:020d}.parquet"
        told = {"mqframe.topic": slot.topic, "mqframe.start": str(start), "mqframe.end": str(end)}
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(told), sink, compression=self._compression, **WRITTEN)
        content = sink.getvalue()
        with writing(self._root):
            folder.mkdir(parents=True, exist_ok=True)
            write_durably(path, memoryview(content))
        self._size_bytes += content.size
        return str(path)

    def settle(self, ends: Mapping[Slot, int], log_start: int) -> None:
        """Keep `ends` before anything that tells the same is removed."""
        self._root.mkdir(parents=True, exist_ok=True)
        self._ends.save(ends, log_start)
        if 0 < self._size_bytes_max < self._size_bytes:
            with writing(self._root):
                self._trim()

    def expire(self, day: str) -> None:
        """Delete this store's files of the days before `day`, and folders that are empty then."""
        with writing(self._root):
            for file in list(self._files()):
                if file.slot.day < day:
                    self._remove(file)
        self._measure()

    def _trim(self) -> None:
        sizes = self._measure()
        for file in sorted(sizes)[:-1]:
            if self._size_bytes <= self._size_bytes_max:
                return
            self._remove(file)
            self._size_bytes -= sizes[file]
            log.info("old file removed", path=str(file.path), size_bytes_max=self._size_bytes_max)

    def _measure(self) -> dict[_File, int]:
        """Look at all files: others may have removed some. Gives their sizes, bytes."""
        sizes = {}
        for file in self._files():
            with contextlib.suppress(FileNotFoundError):
                sizes[file] = file.path.stat().st_size
        self._size_bytes = sum(sizes.values())
        return sizes

    def _remove(self, file: _File) -> None:
        file.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there are more files in it, perhaps another store's
            file.path.parent.rmdir()

    def _folder(self, slot: Slot) -> Path:
        return self._root / slot.topic / f"{DAY_PREFIX}{slot.day}"

    def _files(self) -> Iterator[_File]:
        for folder in self._root.glob(f"*/{DAY_PREFIX}*"):
            yield from self._in(folder, Slot(folder.parent.name, folder.name.removeprefix(DAY_PREFIX)))

    def _in(self, folder: Path, slot: Slot) -> Iterator[_File]:
        with contextlib.suppress(FileNotFoundError):
            for path in folder.iterdir():
                if found := self._name.fullmatch(path.name):
                    yield _File(int(found[2]), path, slot)
