"""How far the opening of a store is, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe.log import get_logger

log: Final = get_logger("store")
FIRST_LINE_SECONDS: Final = 2.0
"""An opening that takes less is not told of."""
LINE_SECONDS: Final = 10.0
_MIB: Final = 1 << 20


class OpeningProgress:
    """Written by the thread that opens the store, read by any.

    An opening that takes long is told in the log, again and again, and at its end. `monotonic`: seconds.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._now = monotonic
        self._is_told = False
        self.start()

    @property
    def text(self) -> str:
        """What is being done, in words."""
        done, total = (self._at - self._start) // _MIB, (self._end - self._start) // _MIB
        return f"its log is checked, {done} of at most {total} MiB" if total else "its store is opened"

    def start(self) -> None:
        """A store is opened from now on."""
        self._began = self._now()
        self._next_line = self._began + FIRST_LINE_SECONDS
        self._start = self._at = self._end = 0

    def begin(self, start: int, end: int) -> None:
        """The log is checked from offset `start` on; its files go up to `end`."""
        self._start, self._at, self._end = start, start, end

    def reached(self, offset: int) -> None:
        """It is checked up to log `offset`."""
        self._at = offset
        now = self._now()
        if now >= self._next_line:
            self._next_line = now + LINE_SECONDS
            self._is_told = True
            log.warning(
                "the log is checked before messages are taken",
                mib=(offset - self._start) // _MIB,
                of_at_most=(self._end - self._start) // _MIB,
            )

    def end(self) -> None:
        """The store is open."""
        if self._is_told:
            self._is_told = False
            log.warning("the log is checked", seconds=round(self._now() - self._began, 1))
