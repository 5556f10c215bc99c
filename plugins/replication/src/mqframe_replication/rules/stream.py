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
    data: memoryview


class EpochFrame(NamedTuple):
    """A `CopyFrame` of an elected leader: the epoch of its bytes, and up to which log offset all is safe."""

    offset: int
    data: memoryview
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
        self._struct = head
        self._make: Any = make
        self._begun = bytearray()

    def read(self, data: bytes | memoryview) -> list[F]:
        """The frames that are whole now, in order; what they carry is mostly a part of `data`, not copied.

        Raises `FrameError` for a head that no master sends: the other side is no replication port.
        """
        view, frames, head_bytes = memoryview(data), [], self._struct.size
        at = self._go_on(view)
        if self._begun:
            if at < 0:
                return []
            offset, _, *more = self._head(self._begun, 0)
            frames.append(self._make(offset, memoryview(self._begun)[head_bytes:], *more))
            self._begun = bytearray()
        while len(view) - at >= head_bytes:
            offset, size, *more = self._head(view, at)
            begin = at + head_bytes
            if len(view) - begin < size:
                break
            at = begin + size
            frames.append(self._make(offset, view[begin:at], *more))
        self._begun += view[at:]
        return frames

    def _go_on(self, view: memoryview) -> int:
        """Go on with the frame that has begun; where in `view` it ends, -1 if it does not."""
        begun, at = self._begun, 0
        while begun:
            wanted = self._struct.size
            if len(begun) >= wanted:
                wanted += self._head(begun, 0)[1]
                if len(begun) == wanted:
                    break
            part = view[at : at + wanted - len(begun)]
            begun += part
            at += len(part)
            if len(begun) < wanted:
                return -1
        return at

    def _head(self, buffer: bytearray | memoryview, at: int) -> tuple[int, ...]:
        fields = self._struct.unpack_from(buffer, at)
        offset, size = fields[:2]
        if min(fields) < 0 or size > FRAME_BYTES_MAX - self._struct.size:
            raise FrameError(
                f"a frame of {size} bytes at log offset {offset}: what is connected to is no replication"
                " port of a master; haMasterAddress names that port (listenPort + 1 unless set)"
            )
        return fields


class FrameReader(_FrameReader[CopyFrame]):
    """Finds the frames in what a master sends, however they are split."""

    def __init__(self) -> None:
        super().__init__(_HEAD, CopyFrame)


class EpochFrameReader(_FrameReader[EpochFrame]):
    """Finds the frames in what an elected leader sends, however they are split."""

    def __init__(self) -> None:
        super().__init__(_EPOCH_HEAD, EpochFrame)
