"""The store whose log is about to be cut, as those see it that keep something beside the log."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from mqframe.core.storage.log_scan import LogRecord, read_record
from mqframe.core.wire.bodies import Body
from mqframe.core.wire.loose_json import decode
from mqframe.store.files.config_file import ConfigFile
from mqframe.store.files.layout import Layout, sized_files
from mqframe.store.queues.consume_queue import ENTRY
from mqframe_replication.store.closed_log import ClosedLog
from mqframe_replication.store.cut_tail import CutTail

B = TypeVar("B", bound=Body)


class StoreToCut:
    """The `StoppedStore` at `layout`, whose log loses `tail`."""

    def __init__(self, layout: Layout, tail: CutTail, log: ClosedLog) -> None:
        self._layout = layout
        self._tail = tail
        self._log = log
        self._files: dict[tuple[str, int], list[tuple[int, Path, int]]] = {}

    @property
    def directory(self) -> Path:
        """Its folder."""
        return self._layout.root

    def first_cut(self, topic: str, queue_id: int) -> int | None:
        """The first queue offset of a queue that is cut off; `None`: none is."""
        return self._tail.first(topic, queue_id)

    def record(self, topic: str, queue_id: int, offset: int) -> LogRecord | None:
        """What a queue lists at queue offset `offset`; `None` where it is deleted, or was never there."""
        files = self._files.get((topic, queue_id))
        if files is None:
            found = sized_files(self._layout.queues / topic / str(queue_id))
            files = self._files[topic, queue_id] = [each for each in found if each[2]]
        for base, path, size in files:
            at = offset * ENTRY.size - base
            if 0 <= at < size:
                with path.open("rb") as file:
                    file.seek(at)
                    physical, length, _ = ENTRY.unpack(file.read(ENTRY.size))
                return read_record(self._log.bytes_at(physical, physical + length), 0, physical, crc=False)
        return None

    def table(self, name: str, body: type[B]) -> B | None:
        """What the file `name` below `config/` holds; `None` where there is none. Raises `StoreError`."""
        return ConfigFile(self._layout.config / name).load(lambda raw: decode(raw, body))
