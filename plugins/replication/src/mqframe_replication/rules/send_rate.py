"""How much of the log a master may send in a second (replication.md §1.8)."""

from __future__ import annotations

from typing import Final

BURST: Final = 11
"""This part of a second's bytes may be sent at once, so that slaves hear of new messages all the time."""


class SendRate:
    """Allows `bytes_per_second_max`, 1024 or more, in any second, wherever that begins.

    Whoever always has more to send gets ten parts of eleven: the eleventh is what may have waited before.
    `now`: seconds of a clock that never goes back.
    """

    def __init__(self, bytes_per_second_max: int, now: float) -> None:
        self._most = bytes_per_second_max / BURST
        self._grows = bytes_per_second_max - self._most
        self._left = self._most
        self._at = now

    def allowed(self, wanted: int, now: float) -> int:
        """How many of `wanted` bytes may be sent at once: all of them, or no small part, or none."""
        self._left = min(self._most, self._left + (now - self._at) * self._grows)
        self._at = now
        if wanted <= self._left:
            return wanted
        return int(self._left) if self._left >= self._most / 2 else 0

    def spend(self, size: int) -> None:
        """`size` bytes are sent, as many as were allowed at most."""
        self._left -= size
