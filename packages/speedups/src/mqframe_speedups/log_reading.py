"""The log's records at a start or a check: compiled code describes those that are ordinary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mqframe.core.storage.log_reading import LogReading, LogRuns
from mqframe_speedups._native import Keys, NewEntries, describe_log
from mqframe_speedups.sends import NotesElsewhere
from mqframe_speedups.switch import is_off

AT_LEAST, AT_ONCE = 1 << 15, 1 << 18
"""So many bytes of the log are described at once: few, where what is not ordinary came soon."""
_NO_KEYS: Final = (1 << 63) - 1
"""The log offset from which keys are taken where there is no index."""


class NativeLogReading(LogReading):
    """Leaves all to Python where it is switched off, and where the index is not of the service `index`."""

    def __init__(self, index: Any) -> None:
        super().__init__(index)
        self._index = index
        self._size = AT_ONCE
        self._is_off = is_off() or not isinstance(index, NotesElsewhere | None)
        if isinstance(index, NotesElsewhere) and not self._is_off:
            index.note_in(NewEntries, Keys)

    def read(
        self, buffer: memoryview, at: int, base: int, apart: Sequence[str], *, crc: bool
    ) -> LogRuns | None:
        """As `LogReading.read`, of at most 256 KiB."""
        if self._is_off:
            return None
        keys_from = _NO_KEYS if self._index is None else self._index.repeat_from
        some = bytes(buffer[at : at + self._size])
        found = describe_log(some, base + at, crc, apart, keys_from)
        said = None if found is None else LogRuns(*found)
        passed = 0 if said is None else said.end - base - at
        self._size = min(max(4 * passed, AT_LEAST), AT_ONCE)
        return said
