"""How long a listener usually takes, which decides how many workers are woken for it."""

from __future__ import annotations

from typing import Final

QUICK_SECONDS: Final = 50e-6
"""Waking a worker costs about as much; quicker listeners are called one after the other by one worker."""
_WEIGHT: Final = 1 / 16


class Pace:
    """A moving average of seconds a call. Unknown counts as slow."""

    __slots__ = ("_average",)

    def __init__(self) -> None:
        self._average = 1.0

    @property
    def quick(self) -> bool:
        """Whether calls are over before another worker would be awake."""
        return self._average < QUICK_SECONDS

    def note(self, seconds: float) -> None:
        """A call took `seconds`. From several threads at once a note may get lost, which does no harm."""
        if self._average == 1.0:
            self._average = seconds
        else:
            self._average += (seconds - self._average) * _WEIGHT
