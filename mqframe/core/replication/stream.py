"""Bytes of the replication stream (replication.md §1): reports of a slave, frames of a master.

Plain frames have the head of Apache's, i64 offset and i32 size. Those within elected groups have i32 epoch
and i64 confirmed besides; all else is the same.

Source: DefaultHAConnection.java, DefaultHAClient.java.
"""

from __future__ import annotations

import struct
from typing import Any, Final, Generic, NamedTuple, TypeVar

from mqframe.core.errors import FrameError

_REPORT: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">qi")
_EPOCH_HEAD: Final = struct.Struct(">qiiq")
FRAME_BYTES_MAX: Final = 4 << 20
"""The largest frame with its head: the buffer of Apache's slaves."""


class CopyFrame(NamedTuple):
    """A part of the master's log: where it begins, bytes, and what lies there; nothing in a heartbeat."""

    offset: int
    data: bytes


class EpochFrame(NamedTuple):
    """A `CopyFrame` of an elected leader: the epoch of its bytes, and up to which log offset all is safe."""

    offset: int
    data: bytes
    epoch: int
    confirmed: int


F = TypeVar("F", CopyFrame, EpochFrame)


def encode_report(offset: int) -> bytes:
    """The report of a slave whose log ends at `offset`, bytes."""
    return _REPORT.pack(offset)


def frame_head(offset: int, size: int) -> bytes:
    """What stands before the `size` bytes from `offset` of the log on. A size of 0: a heartbeat."""
    return _HEAD.pack(offset, size)


def epoch_frame_head(offset: int, size: int, epoch: int, confirmed: int) -> bytes:
    """As `frame_head`, for an `EpochFrame`."""
    return _EPOCH_HEAD.pack(offset, size, epoch, confirmed)


class ReportReader:
    """Finds the reports in what a slave sends, however it is split."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, data: bytes) -> list[int]:
        """The offsets of the reports that are whole now, in order."""
        data = self._rest + data
        whole = len(data) - len(data) % _REPORT.size
        self._rest = data[whole:]
        return [offset for (offset,) in _REPORT.iter_unpack(data[:whole])]


class _FrameReader(Generic[F]):
    def __init__(self, head: struct.Struct, make: type[F]) -> None:
        self._head = head
        self._make: Any = make
        self._rest = bytearray()

    def read(self, data: bytes) -> list[F]:
        """The frames that are whole now, in order.

        Raises `FrameError` for a head that no master sends: the other side is no replication port.
        """
        rest, at, head = self._rest, 0, self._head
        rest += data
        frames = []
        while len(rest) - at >= head.size:
            offset, size, *more = fields = head.unpack_from(rest, at)
            if min(fields) < 0 or size > FRAME_BYTES_MAX - head.size:
                raise FrameError(
                    f"a frame of {size} bytes at log offset {offset}: what is connected to is no replication"
                    " port of a master; haMasterAddress names that port (listenPort + 1 unless set)"
                )
            begin = at + head.size
            if len(rest) - begin < size:
                break
            at = begin + size
            frames.append(self._make(offset, bytes(rest[begin:at]), *more))
        del rest[:at]
        return frames


class FrameReader(_FrameReader[CopyFrame]):
    """Finds the frames in what a master sends, however they are split."""

    def __init__(self) -> None:
        super().__init__(_HEAD, CopyFrame)


class EpochFrameReader(_FrameReader[EpochFrame]):
    """Finds the frames in what an elected leader sends, however they are split."""

    def __init__(self) -> None:
        super().__init__(_EPOCH_HEAD, EpochFrame)
