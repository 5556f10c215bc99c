"""Checksums of a small file and of its copy, in a file beside them: JSON has none, and a digit may flip.

They are in a file of their own, because Apache RocketMQ's brokers read and replace the same files and know
nothing of them. So what differs from its checksum is not always damaged: see `SavedSums.is_damaged`.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mqframe.store.files.syncing import write_unsynced

SUFFIX: Final = ".sum"


class SavedSum(NamedTuple):
    """Of one file as it was saved: `size`, bytes; `crc`: CRC-32; `changed_ns`: when it was written."""

    size: int
    crc: int
    changed_ns: int

    @classmethod
    def of(cls, raw: bytes, changed_ns: int) -> SavedSum:
        """Of a file with the content `raw`."""
        return cls(len(raw), zlib.crc32(raw), changed_ns)

    def is_of(self, raw: bytes) -> bool:
        """Whether `raw` is what was saved."""
        return self.size == len(raw) and self.crc == zlib.crc32(raw)


class SavedSums(msgspec.Struct, frozen=True):
    """`saved`: of the file; `former`: of its copy, `None` where it has none."""

    saved: SavedSum
    former: SavedSum | None

    def is_damaged(self, raw: bytes, path: Path, backup: Path) -> bool:
        """Whether `raw`, read from `path`, is what was saved there with some bytes wrong. Raises OSError.

        `backup`: the file's copy, which may be `path` itself. Others may have saved since: another broker, or
        somebody with an editor. Damage leaves the size, and the time or, where even that was changed, the
        copy as this broker left it: who saves a file renews the copy, too.
        """
        meant = self.former if path == backup else self.saved
        if meant is None or meant.size != len(raw):
            return False
        if any(each is not None and each.is_of(raw) for each in (self.saved, self.former)):
            return False
        if os.stat(path).st_mtime_ns == meant.changed_ns:
            return True
        return path != backup and self._is_copy_left(backup)

    def _is_copy_left(self, backup: Path) -> bool:
        try:
            found = os.stat(backup)
        except FileNotFoundError:
            return self.former is None
        return self.former is not None and (found.st_size, found.st_mtime_ns) == (
            self.former.size,
            self.former.changed_ns,
        )


def sum_path(path: Path) -> Path:
    """Where the checksums of the file at `path` are."""
    return path.with_name(path.name + SUFFIX)


def read_sums(path: Path) -> SavedSums | None:
    """Those of the file at `path`; `None` where there are none, or they are damaged. Raises OSError."""
    try:
        body, _, crc = sum_path(path).read_bytes().rstrip().rpartition(b"\n")
    except FileNotFoundError:
        return None
    if crc != b"%08x" % zlib.crc32(body):
        return None
    try:
        return msgspec.json.decode(body, type=SavedSums)
    except msgspec.DecodeError:
        return None


def write_sums(path: Path, sums: SavedSums) -> None:
    """Keep `sums` for the file at `path`. Raises OSError.

    Nothing waits for the disk: what a power cut leaves of them counts, or is told from them to be of no use.
    """
    body = msgspec.json.encode(sums)
    write_unsynced(sum_path(path), body + b"\n%08x\n" % zlib.crc32(body))
