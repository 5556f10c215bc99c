"""The log of a store that nobody has open: where its records begin, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from mqframe.core.errors import StoreError
from mqframe.core.storage.damage import last_data
from mqframe.core.storage.log_scan import LogRecord, scan_parts
from mqframe.store.files.layout import Layout
from mqframe.store.files.log_file import LogFile
from mqframe.store.log.log_view import LogView, neighbours


class ClosedLog:
    """The files of one log, for reading. A context; raises `StoreError` where files are missing, OSError."""

    def __init__(self, layout: Layout) -> None:
        file_bytes, groups = neighbours(layout.commit_log)
        if len(groups) > 1:
            raise StoreError(
                f"files of the log in {layout.commit_log} are missing between others: put them back, or go on"
                f" without their messages (mqframe store recover {layout.root} --accept-loss)"
            )
        self._view = LogView(layout.commit_log, groups[0] if groups else [], file_bytes)
        self.directory = layout.commit_log

    @property
    def files(self) -> list[LogFile]:
        """The files, oldest first."""
        return self._view.files

    @property
    def start(self) -> int:
        """Log offset of the oldest byte."""
        return self._view.start

    def records(self, file: LogFile, start: int = 0) -> Iterator[LogRecord]:
        """The sound records of `file` from its byte `start` on, up to its unused end or what is none."""
        for records in scan_parts(file.view, file.base, start, crc=False):
            yield from records

    def newest_before(self, offset: int) -> int:
        """Store time, ms, of the record that ends at log `offset`, or of a newer one before it in its file.

        0 where the log begins there. Raises `StoreError` where no record ends.
        """
        if not self.files and offset == 0:
            return 0
        file = self._view.file_at(offset) if self.files else None
        if file is None and self.files and offset == self.files[-1].base + self.files[-1].size:
            return self._newest(self.files[-1])
        if file is None:
            where = f"its files go from {self.start}" if self.files else "it has no files"
            raise StoreError(f"the log in {self.directory} has no offset {offset}: {where}")
        if offset == file.base:
            number = self.files.index(file)
            return self._newest(self.files[number - 1]) if number else 0
        newest, end = 0, file.base
        for record in self.records(file):
            if record.end > offset:
                break
            newest, end = max(newest, record.store_timestamp), record.end
        if end != offset:
            raise StoreError(
                f"no record of the log in {self.directory} begins at offset {offset}: the one before ends at"
                f" {end}. Give the start of a record; where records are damaged, mend the log first (mqframe"
                " store recover)"
            )
        return newest

    def _newest(self, file: LogFile) -> int:
        return max((record.store_timestamp for record in self.records(file)), default=0)

    def parts_from(self, offset: int) -> Iterator[tuple[LogFile, int, int]]:
        """Each file that holds something from log `offset` on: with its first and its last such byte."""
        for file in self.files:
            at = max(offset - file.base, 0)
            if at < file.size and (stop := last_data(file, at)) > at:
                yield file, at, stop

    def bytes_at(self, start: int, end: int) -> bytes:
        """What lies from log offset `start` to before `end`, in one file."""
        file = self._view.file_at(start)
        return b"" if file is None else bytes(file.view[start - file.base : end - file.base])

    def __enter__(self) -> ClosedLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.close()
