"""Reading records of the log in another way than Python does: at starts and checks of a store, and at slaves.

A broker service brings it: its factory names a `LogReading` in the attribute `LogReading`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class LogRuns(NamedTuple):
    """What neighbouring records say, and how many they are.

    Log offsets: where the last one begins, and `end`, behind it. `stored`: when the last one was; `newest`:
    the latest such time, ms. `runs`: of each queue its topic and id, the queue offset of its first record,
    the entries of all, which follow one another there, and the log offset behind the last. `keys`: what the
    index `add`s, with their times; none that it has already.
    """

    records: int
    end: int
    last: int
    stored: int
    newest: int
    runs: Sequence[tuple[tuple[str, int], int, bytes, int]]
    keys: Any


class LogReading:
    """Made for one start or check, or for a slave; this one leaves all to Python."""

    def __init__(self, index: Any) -> None:
        """`index`: the `TakesKeys` that keys are entered into; `None`: none is kept."""

    def read(
        self, buffer: memoryview, at: int, base: int, apart: Sequence[str], *, crc: bool
    ) -> LogRuns | None:
        """What the records from byte `at` of `buffer` on, log offset `base` + `at`, say; `None`: ask Python.

        It ends before a record that is not sound (`read_record`; CRCs count with `crc`), in no queue, of a
        topic of `apart`, part of a transaction, or with a zero in its properties.
        """
        return None
