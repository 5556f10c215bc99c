"""Files of a commit log, opened by a reader for itself: by a thread of the store, or from outside of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mqframe.store.files.layout import file_name

_OPEN_MAX: Final = 64


class LogFiles:
    """The files in `directory`, of `file_bytes` each, one of which begins at log offset `start`.

    Opened as they are needed, a bounded number of them at once.
    """

    __slots__ = ("_descriptors", "_directory", "_file_bytes", "_start")

    def __init__(self, directory: Path, start: int, file_bytes: int) -> None:
        self._directory = directory
        self._start = start
        self._file_bytes = file_bytes
        self._descriptors: dict[int, int] = {}

    def fetch(self, start: int, size: int) -> bytes | None:
        """`size` bytes from log offset `start` on; `None` when their file is gone."""
        base = start - (start - self._start) % self._file_bytes
        descriptor = self._descriptors.get(base)
        if descriptor is None:
            try:
                descriptor = os.open(self._directory / file_name(base), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            if len(self._descriptors) >= _OPEN_MAX:
                self.close()
            self._descriptors[base] = descriptor
        return os.pread(descriptor, size, start - base)

    def __enter__(self) -> LogFiles:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()
