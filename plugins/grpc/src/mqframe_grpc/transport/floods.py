"""What costs a server much and a client little is counted, second by second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqframe_grpc.transport.frames import ErrorCode, HttpBroken
from mqframe_grpc.transport.limits import GrpcLimits

_SIGNALS_PER_CONTENT: Final = 4
"""As many empty frames go with one that carries something: windows are opened, a ping measures the way."""


class Floods:
    """Counts what one connection does. `now`: monotonic seconds.

    `content`: frames with something in them, of both directions, in this second.
    """

    __slots__ = ("_limits", "_now", "_resets", "_second", "_signals", "content")

    def __init__(self, limits: GrpcLimits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._second = 0
        self._resets = 0
        self._signals = 0
        self.content = 0

    def reset(self) -> None:
        """A call was cancelled, or refused. Raises `HttpBroken` when that happens too often."""
        self._look()
        self._resets += 1
        if self._resets > self._limits.resets_max:
            raise HttpBroken(ErrorCode.ENHANCE_YOUR_CALM, "too many cancelled calls")

    def signal(self, weight: int = 1) -> None:
        """A frame came that carries nothing, or costs as `weight` of them. Raises `HttpBroken` when there are
        too many."""
        self._look()
        self._signals += weight
        if self._signals > self._limits.signals_max + _SIGNALS_PER_CONTENT * self.content:
            raise HttpBroken(ErrorCode.ENHANCE_YOUR_CALM, "too many frames without anything in them")

    def _look(self) -> None:
        second = int(self._now())
        if second != self._second:
            self._second = second
            self._resets = self._signals = self.content = 0
