"""Busy polling: after a lone request a server looks for the next one without sleeping, for a moment.

A processor that went to sleep takes tens of microseconds to wake up, as long as a request takes to serve. A
client that sends one request after the other sends the next within that time. So after a lone request the
loop looks for more without sleeping, for a moment; requests that come many at a time need no such help. Where
nothing came in that moment it is tried less and less, so that a quiet server costs next to nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

CREDIT_MAX: Final = 8
TRY_EVERY: Final = 16
"""Without credit, each so many lone requests are followed by a look."""


class BusyPoll:
    """Keeps `loop` awake for `seconds` after a lone request. `turn` is called by every connection.

    `monotonic`: seconds; the loop's own may stand still for a thousand microseconds, as that of uvloop does.
    `credit`: how many looks in vain it takes until looks become rare; each that finds something adds one.
    """

    __slots__ = ("_loop", "_monotonic", "_passed", "_seconds", "_until", "credit", "polling")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, monotonic: Callable[[], float]
    ) -> None:
        self._loop = loop
        self._monotonic = monotonic
        self._seconds = seconds
        self._until = 0.0
        self._passed = 0
        self.credit = 1
        self.polling = False

    def turn(self, requests: int) -> None:
        """`requests` came with one read."""
        if self.polling:
            self.credit = min(self.credit + 1, CREDIT_MAX)
            self._until = self._monotonic() + self._seconds if requests == 1 else 0.0
        elif requests == 1:
            self._passed += 1
            if self.credit or self._passed >= TRY_EVERY:
                self._passed = 0
                self.polling = True
                self._until = self._monotonic() + self._seconds
                self._loop.call_soon(self._look)

    def _look(self) -> None:
        # Between two calls the loop looks at all connections, without waiting because this call is due.
        if self._monotonic() < self._until:
            self._loop.call_soon(self._look)
            return
        self.polling = False
        if self._until and self.credit:
            self.credit -= 1
