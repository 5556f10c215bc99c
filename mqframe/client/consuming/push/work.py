"""Calls of listeners as workers see them, and how long they usually take."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sized
from typing import Final, Generic, Protocol, TypeVar

from mqframe.net.clock import LoopClock


class Work(Protocol):
    """One call of a listener. `elapsed`: seconds that it took, known once it was carried out."""

    elapsed: float

    @property
    def messages(self) -> Sized:
        """What the listener gets."""


W = TypeVar("W", bound=Work)


class Chain(Protocol[W]):
    """Work that has an order: one piece after the other by the same worker, which is spared the way through
    the loop. All methods are called by workers."""

    def follow(self, work: W) -> W:
        """What is to be done after `work`, which was reported, by whoever did it."""

    def ends(self, work: W) -> bool:
        """Whether `work` is nothing to be done but the end of a chain, which is reported likewise."""

    def is_urgent(self, work: W) -> bool:
        """Whether the loop is to hear of this end at once."""


QUICK_SECONDS: Final = 50e-6
"""Waking a worker costs about as much; quicker listeners are called one after the other by one worker."""
_WEIGHT: Final = 1 / 16


class CallPace:
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


class Workers(Generic[W]):
    """What threads and tasks that call listeners share: the calls that wait, and the look after them.

    `done`: called with finished calls, on the loop; `chain`: where calls have an order, what follows on each.
    """

    def __init__(self, done: Callable[[list[W]], None], clock: LoopClock, chain: Chain[W] | None) -> None:
        self._done = done
        self._clock = clock
        self._chain = chain
        self._work: deque[W] = deque()
        self._pace = CallPace()
        self._look: asyncio.TimerHandle | None = None
        self._stopping = False

    @property
    def waiting(self) -> int:
        """Calls that no worker has begun."""
        return len(self._work)
