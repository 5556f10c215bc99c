"""A stretch of the log from which records are taken one after the other."""

from __future__ import annotations

from typing import Final

from mqframe.core.storage.record_filter import RecordFilter, RecordsAhead
from mqframe.core.wire.frame import Body
from mqframe.store.files.log_file import LogFile
from mqframe.store.log.commit_log import CommitLog
from mqframe.store.queues.choosing import GAP_BYTES_MAX, LookAhead

_AHEAD_BYTES: Final = 4096
_AHEAD_BYTES_MAX: Final = 64 << 10
"""How much is copied with a record that is asked for: little at first, for the next may be far away."""


class WaitsForDisk(Exception):
    """Memory does not hold what is to be read."""


class LogWindow:
    """Gives records from log offset `mapped_from` on as slices of the map, older ones copied.

    Those that lie near to each other are copied together. `view`: what has the last record, and most often
    the next, from log offset `base` on; no record in it ends behind `stop`.
    """

    __slots__ = ("_ahead", "_log", "_mapped_from", "base", "stop", "view")

    def __init__(self, log: CommitLog, mapped_from: int) -> None:
        self._log, self._mapped_from, self._ahead = log, mapped_from, _AHEAD_BYTES
        self.view, self.base, self.stop = memoryview(b""), 0, 0

    def fetch(self, start: int, size: int) -> Body | None:
        """As `Fetch`. Raises `WaitsForDisk`."""
        base = self.base
        if not base <= start <= self.stop - size:
            file, log_end = self._log.file_at(start), self._log.end
            if file is None or start >= log_end:
                return None
            end = min(file.base + file.size, log_end)
            if start >= self._mapped_from:
                self.view, self.base, self.stop = file.view, file.base, end
            else:
                near = base <= start <= self.stop + GAP_BYTES_MAX
                self._ahead = min(2 * self._ahead, _AHEAD_BYTES_MAX) if near else _AHEAD_BYTES
                self.view = copied(file, start, size, max(size, min(self._ahead, end - start)))
                self.base, self.stop = start, start + len(self.view)
            base = self.base
        return self.view[start - base : start - base + size]

    def ahead(
        self, records: RecordFilter, entries: bytes, queue_id: int, limits: tuple[int, int]
    ) -> LookAhead | None:
        """What looks with `records` at what is in the window, if they can that (`RecordsAhead`)."""
        if not isinstance(records, RecordsAhead):
            return None

        def look_ahead(number: int, picked: list[tuple[int, int, int]], size: int) -> tuple[int, int]:
            window = self.view, self.base, self.stop
            return records.look_ahead(
                number, picked, size, entries, limits, queue_id, self._log.start, window
            )

        return look_ahead


def copied(file: LogFile, start: int, size: int, wanted: int) -> memoryview:
    """`wanted` bytes from log offset `start` on, or the `size` that are needed. Raises `WaitsForDisk`."""
    read = file.read_now(start - file.base, wanted)
    if read is None and wanted > size:
        read = file.read_now(start - file.base, size)
    if read is None:
        raise WaitsForDisk
    return memoryview(read)
