"""What a mirror has done, and how far it is behind, by queue of the source."""

from __future__ import annotations

import attrs


@attrs.define
class LaneTally:
    """Of one queue, since the process began.

    `position`: the offset of the next message to copy; `end`: where the queue ends, as its broker said last.
    `waiting_since_ms`: when the first message was stored that is not copied yet, ms since 1970; 0: none
    waits. `looped`: messages left out since they were at the target before; `refused`: since the target takes
    no such; `missed`: that were gone at the source before they were copied. `settled`: sends whose end had to
    be looked for. `problem`: what holds it up; "" when nothing does.
    """

    position: int = 0
    end: int = 0
    waiting_since_ms: int = 0
    copied: int = 0
    copied_bytes: int = 0
    looped: int = 0
    refused: int = 0
    missed: int = 0
    settled: int = 0
    problem: str = ""

    @property
    def lag(self) -> int:
        """Messages that are still to be copied."""
        return max(0, self.end - self.position)

    def lag_seconds(self, now_ms: int) -> float:
        """How long the first of these has been stored, s."""
        return max(0, now_ms - self.waiting_since_ms) / 1000 if self.waiting_since_ms else 0.0
