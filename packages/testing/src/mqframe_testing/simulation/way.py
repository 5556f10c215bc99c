"""The way from one host of a simulation to another: blocked, slow or lossy."""

from __future__ import annotations

from random import Random
from typing import Final

import attrs

RESEND_SECONDS: Final = 0.2
"""After so long TCP sends again what was lost, then after twice as long, and so on."""
RESENDS_MAX: Final = 8


@attrs.define
class Way:
    """All traffic from one host to another.

    `blocked`: nothing comes through. `delay`: each piece takes up to so many seconds. `loss`: which share of
    pieces, or of calls (`FailingCoordination`), is lost; TCP sends it again, which takes time. `doubles`:
    which share of calls arrives twice; TCP takes out what comes twice. `cut_after`: so many bytes are still
    to come through before the connection that carries the next one is cut.
    """

    blocked: bool = False
    delay: float = 0.0
    loss: float = 0.0
    doubles: float = 0.0
    cut_after: int | None = None

    def room(self, size: int) -> int:
        """How many of `size` bytes come through before a cut."""
        if self.cut_after is None:
            return size
        kept = min(size, self.cut_after)
        self.cut_after = self.cut_after - kept if kept == size else None
        return kept

    def delay_of(self, chance: Random | None) -> float:
        """Seconds that a piece takes."""
        if chance is None or not (self.delay or self.loss):
            return self.delay
        seconds = self.delay * chance.random()
        resend = RESEND_SECONDS
        for _ in range(RESENDS_MAX):
            if chance.random() >= self.loss:
                break
            seconds, resend = seconds + resend, resend * 2
        return seconds
