"""Failures of something that is tried again and again: all are counted, few are told."""

from __future__ import annotations


class FailureCount:
    """`total`: how often it failed."""

    __slots__ = ("_last", "total")

    def __init__(self) -> None:
        self.total = 0
        self._last = ""

    def note(self, problem: BaseException) -> bool:
        """Count one more; whether it is worth a line of the log.

        It is when it is another one than the last, and each time that their number has doubled: who fails
        twice a second for a week would fill the disk.
        """
        self.total += 1
        words = f"{type(problem).__name__}: {problem}"
        if words != self._last:
            self._last = words
            return True
        return self.total & (self.total - 1) == 0
