"""Whether a broker of an elected group can store, as it tells its group (election.md §8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from mqframe.log import get_logger
from mqframe.net.clock import Every, LoopClock
from mqframe_election.rules.ability import Ability

log = get_logger("replication")
_LOOK_SECONDS: Final = 0.5


class WatchedDisk(Protocol):
    """How the disk of a store is: as `StoreDisk`."""

    @property
    def refusal(self) -> str:
        """Why the disk takes nothing; empty normally."""

    @property
    def has_room(self) -> bool:
        """Whether there is room for the next file of the log."""

    @property
    def waiting_seconds(self) -> float:
        """For how long the disk has owed an answer; 0 while it owes none."""


class DiskWatch:
    """Looks at the disk of a store that `present` gives, `None` while there is none.

    `stall_seconds`: as of `Ability`; `changed`: called when `why` is another one.
    """

    def __init__(
        self,
        clock: LoopClock,
        stall_seconds: float,
        present: Callable[[], WatchedDisk | None],
        changed: Callable[[], object],
    ) -> None:
        self._clock = clock
        self._ability = Ability(stall_seconds)
        self._present = present
        self._changed = changed
        self._looks: Every | None = None
        self.has_room = True
        """Whether there is room for the next file of the log."""

    @property
    def why(self) -> str:
        """Why others cannot count on this broker to store; empty: they can."""
        return self._ability.why

    @property
    def now(self) -> str:
        """Why this broker cannot store at the moment; empty: it can."""
        return self._ability.now

    def start(self) -> None:
        """Look from now on, twice a second."""
        self._looks = Every(self._clock, _LOOK_SECONDS, self._look, name="disk")

    def stop(self) -> None:
        """Look no more."""
        if self._looks is not None:
            self._looks.stop()

    def _look(self) -> None:
        disk = self._present()
        if disk is not None:
            self.has_room = disk.has_room
            self.note(disk.refusal, disk.waiting_seconds)

    def note(self, refusal: str, waiting_seconds: float = 0.0) -> None:
        """What the store says now, or why there is none: as `Ability.look`."""
        before = self._ability.why
        why = self._ability.look(refusal, waiting_seconds, self._clock.monotonic())
        if why and not before:
            log.error("this broker cannot store; the others of its group are told", problem=why)
        elif before and not why:
            log.error("this broker can store again; the others of its group are told")
        if why != before:
            self._changed()
