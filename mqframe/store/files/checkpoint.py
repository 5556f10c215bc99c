"""The checkpoint file: up to which time log, queues and index are on disk (store.md §4)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from mqframe.store.files.descriptors import save_page

_TIMES: Final = struct.Struct(">qqqqq")


class Checkpoint:
    """Times (ms) of the newest record on disk, for each part; `master_flushed` and `confirmed`: bytes.

    `is_known`: whether there was a whole checkpoint; without one all numbers are 0.
    """

    __slots__ = ("_path", "confirmed", "index", "is_known", "log", "master_flushed", "queues")

    def __init__(self, path: Path) -> None:
        self._path = path
        self.log = self.queues = self.index = self.master_flushed = self.confirmed = 0
        self.is_known = False
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return
        if len(raw) >= _TIMES.size:
            self.log, self.queues, self.index, self.master_flushed, self.confirmed = _TIMES.unpack_from(raw)
            self.is_known = True

    @staticmethod
    def decode(raw: bytes) -> tuple[int, int, int, int, int]:
        """The five numbers that the file holds. Raises struct.error."""
        log, queues, index, master_flushed, confirmed = _TIMES.unpack_from(raw)
        return log, queues, index, master_flushed, confirmed

    def encode(self, newest: int | None = None) -> bytes:
        """The five numbers as the file holds them; with `newest` as the first two, ms."""
        log, queues = (self.log, self.queues) if newest is None else (newest, newest)
        return _TIMES.pack(log, queues, self.index, self.master_flushed, self.confirmed)

    def save(self, encoded: bytes | None = None) -> None:
        """Write and sync the file; for a thread when `encoded` was taken by the owner. Raises OSError."""
        save_page(self._path, self.encode() if encoded is None else encoded)
