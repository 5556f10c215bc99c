"""Zeros, which are what files hold before they are written: passed in pieces, at the speed of memory.

A copy of a file may have as many of them as the original had holes. No piece takes long, so that other
threads get the interpreter in between.
"""

from __future__ import annotations

from typing import Final

Data = bytes | bytearray | memoryview

PIECE_BYTES: Final = 1 << 18
"""So much is looked at in one go."""
_ZEROS: Final = bytes(PIECE_BYTES)


def is_empty(data: Data, at: int = 0, end: int | None = None) -> bool:
    """Whether all bytes from byte `at` of `data` to before `end` (that of `data`) are zeros; also where there
    are none."""
    end = len(data) if end is None else min(end, len(data))
    for start in range(at, end, PIECE_BYTES):
        size = min(PIECE_BYTES, end - start)
        if bytes(data[start : start + size]) != (_ZEROS if size == PIECE_BYTES else _ZEROS[:size]):
            return False
    return True


def data_end(data: Data, at: int, end: int) -> int:
    """Behind the last byte from byte `at` of `data` to before `end` that is not zero; `at` where all are."""
    for stop in range(end, at, -PIECE_BYTES):
        start = max(at, stop - PIECE_BYTES)
        if not is_empty(data, start, stop):
            return start + len(bytes(data[start:stop]).rstrip(b"\0"))
    return at
