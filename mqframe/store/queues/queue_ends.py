"""What a store notes of its queues and index for the next start: where they end (store.md §4)."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Final

import msgspec

from mqframe.hooks.interfaces.key_index import NotedFile
from mqframe.store.files.syncing import write_durably

QueueRow = tuple[int, list[int], int, int, int, int]
"""Queue id, first bytes of its files, floor, log start that the floor is for, end, covered."""

_MAGIC: Final = b"MQE2"
_HEAD: Final = struct.Struct(">4sI")


class QueueEnds(msgspec.Struct):
    """`log_files`, `log_end` (bytes) and `checkpoint` say for which state of the store it holds.

    `queues`: rows by topic; `orderly`: nothing was written after it. Otherwise it is what was on disk at
    some time: queues and index may have got longer since, and never shorter.
    """

    log_files: list[int]
    log_end: int
    checkpoint: bytes
    queues: dict[str, list[QueueRow]]
    index: list[NotedFile] = []
    orderly: bool = False

    def encode(self) -> bytes:
        """The note as its file holds it, with a CRC in front."""
        packed = msgspec.msgpack.encode(self)
        return _HEAD.pack(_MAGIC, zlib.crc32(packed)) + packed


_decoder: Final = msgspec.msgpack.Decoder(QueueEnds)


def read_ends(path: Path) -> QueueEnds | None:
    """The note in the file at `path`; `None` when there is none that is whole."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(raw) < _HEAD.size or _HEAD.unpack_from(raw) != (_MAGIC, zlib.crc32(raw[_HEAD.size :])):
        return None
    try:
        return _decoder.decode(raw[_HEAD.size :])
    except msgspec.DecodeError:
        return None


def save_note(path: Path, encoded: bytes) -> None:
    """Replace the note at `path`, durably and at once. Raises OSError."""
    write_durably(path, encoded)
