"""Failures of something that is tried again and again: all are counted, few are told."""

from __future__ import annotations


class FailureCount:
    """`total`: how often it failed."""

    __slots__ = ("_last", "_told", "total")

    def __init__(self) -> None:
        self.total = 0
        self._last = ""
        self._told = False

    def note(self, problem: BaseException) -> bool:
        """Count one more; whether it is worth a line of the log.

        It is when it is another one than the last, and each time that their number has doubled: who fails
        twice a second for a week would fill the disk.
        """
        self.total += 1
        words = f"{type(problem).__name__}: {problem}"
        tell = words != self._last or self.total & (self.total - 1) == 0
        self._last = words
        self._told = self._told or tell
        return tell

    def well(self) -> bool:
        """It succeeded; whether that is worth a line: when a failure since the last success was."""
        told, self._told = self._told, False
        return told
