"""Messages that come again, one of which may have killed the process that had it.

A process that dies leaves all that it had in hand, and all of that comes again, side by side. Were it begun
at once, the one that kills would take its neighbours along each time, and each time counts for them. So what
comes again is begun one by one:

    one by one  --as many went well as one process can leave-->  at once
    at once     --none came again for `CALM_SECONDS`-->          one by one

Where thousands failed and come again, as when what listeners need was away, the first few go slowly.
Those that wait get invisible times of their own (`apart`): if the process dies, they come at other times than
the one that killed it, and are done before that comes again.
"""

from __future__ import annotations

from typing import Final

CALM_SECONDS: Final = 5.0
_GOLDEN: Final = 0.618034


class PopSuspects:
    """What one process knows of those. `left_max`: the most messages that a process leaves."""

    __slots__ = ("_apart", "_last", "_well", "left_max")

    def __init__(self, left_max: int) -> None:
        self.left_max = left_max
        self._well = 0
        self._last = 0.0
        self._apart = 0

    def came(self, now: float) -> bool:
        """Some came again at `now`, monotonic seconds; whether they are to be begun one by one."""
        if now - self._last > CALM_SECONDS:
            self._well = 0
        self._last = now
        return self._well < self.left_max

    def went_well(self) -> None:
        """One was done with, in whatever way: the process lives."""
        self._well += 1

    def apart(self) -> float:
        """By which factor, from above 1 to below 2, the next that waits is hidden for longer."""
        self._apart += 1
        return 1.0 + 0.1 + 0.8 * (self._apart * _GOLDEN % 1.0)
