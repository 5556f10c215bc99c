"""The checkpoint file: up to which time log, queues and index are on disk (store.md §4)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final
from zlib import crc32

from mqframe.log import get_logger
from mqframe.store.files.descriptors import save_page

log: Final = get_logger("store")
_TIMES: Final = struct.Struct(">qqqqq")
_SUM: Final = struct.Struct(">4sI")
_MAGIC: Final = b"MQC1"


class Checkpoint:
    """Times (ms) of the newest record on disk, for each part; `master_flushed` and `confirmed`: bytes.

    `is_known`: whether there was a whole checkpoint; without one all numbers are 0. A CRC-32 of the numbers
    follows them, where Apache RocketMQ leaves zeros; it writes none, and overwrites the numbers alone. Then
    nothing is known: more is checked once.
    """

    BYTES: Final = _TIMES.size
    """What the file holds at least."""

    __slots__ = ("_path", "confirmed", "index", "is_known", "log", "master_flushed", "queues")

    def __init__(self, path: Path) -> None:
        self._path = path
        self.log = self.queues = self.index = self.master_flushed = self.confirmed = 0
        self.is_known = False
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return
        if len(raw) >= _TIMES.size and not _is_right(raw):
            log.warning(
                "the checkpoint is damaged, or another broker's; the whole log is checked", file=str(path)
            )
        elif len(raw) >= _TIMES.size:
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
        numbers = self.encode() if encoded is None else encoded
        save_page(self._path, numbers + _SUM.pack(_MAGIC, crc32(numbers)))


def _is_right(raw: bytes) -> bool:
    """Whether the numbers have their CRC, or none."""
    found = raw[_TIMES.size : _TIMES.size + _SUM.size].ljust(_SUM.size, b"\0")
    return found == bytes(_SUM.size) or found == _SUM.pack(_MAGIC, crc32(raw[: _TIMES.size]))
