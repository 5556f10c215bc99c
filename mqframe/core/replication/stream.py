"""Bytes of the replication stream (replication.md §1): reports of a slave, frames of a master.

Source: DefaultHAConnection.java, DefaultHAClient.java.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from mqframe.core.errors import FrameError

_REPORT: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">qi")
FRAME_BYTES_MAX: Final = 4 << 20
"""The largest frame with its head: the buffer of Apache's slaves."""


class CopyFrame(NamedTuple):
    """A part of the master's log: where it begins, bytes, and what lies there; nothing in a heartbeat."""

    offset: int
    data: memoryview


def encode_report(offset: int) -> bytes:
    """The report of a slave whose log ends at `offset`, bytes."""
    return _REPORT.pack(offset)


def frame_head(offset: int, size: int) -> bytes:
    """What stands before the `size` bytes from `offset` of the log on. A size of 0: a heartbeat."""
    return _HEAD.pack(offset, size)


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


class FrameReader:
    """Finds the frames in what a master sends, however they are split."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def read(self, data: bytes | memoryview) -> list[CopyFrame]:
        """The frames that are whole now, in order; what they carry is mostly a part of `data`, not copied.

        Raises `FrameError` for a size that no master sends: the other side is no replication port.
        """
        view, frames = memoryview(data), []
        at = self._go_on(view)
        if self._begun:
            if at < 0:
                return []
            frames.append(CopyFrame(_HEAD.unpack_from(self._begun)[0], memoryview(self._begun)[_HEAD.size :]))
            self._begun = bytearray()
        while len(view) - at >= _HEAD.size:
            offset, size = _head(view, at)
            begin = at + _HEAD.size
            if len(view) - begin < size:
                break
            at = begin + size
            frames.append(CopyFrame(offset, view[begin:at]))
        self._begun += view[at:]
        return frames

    def _go_on(self, view: memoryview) -> int:
        """Go on with the frame that has begun; where in `view` it ends, -1 if it does not."""
        begun, at = self._begun, 0
        while begun:
            wanted = _HEAD.size
            if len(begun) >= wanted:
                wanted += _head(begun, 0)[1]
                if len(begun) == wanted:
                    break
            part = view[at : at + wanted - len(begun)]
            begun += part
            at += len(part)
            if len(begun) < wanted:
                return -1
        return at


def _head(buffer: bytearray | memoryview, at: int) -> tuple[int, int]:
    offset, size = _HEAD.unpack_from(buffer, at)
    if offset < 0 or not 0 <= size <= FRAME_BYTES_MAX - _HEAD.size:
        raise FrameError(
            f"a frame of {size} bytes at log offset {offset}: what is connected to is no replication"
            " port of a master; haMasterAddress names that port (listenPort + 1 unless set)"
        )
    return offset, size
