"""Clean-up rules: which log files are deleted, when writes are refused (store.md §4, behaviour.md §3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from mqframe.core.clock import Clock

FILES_PER_PASS_MAX: Final = 10
BELIEVED_AFTER_SECONDS: Final = 86_400.0
"""For how long a clock must run on after it was set before files grow old by it."""
UNNOTICED_MS: Final = 60_000
"""By how much the clock may be set forward without being doubted."""


class TrustedTime:
    """The time by which files grow old: the wall clock, but not one that has just been set forward.

    A clock that is a week ahead for a minute would delete the messages of a week. So time here passes by the
    monotonic clock, from the last time that the store knows (`newest_ms`, of its newest record; `None`
    for an empty store), and a jump is believed once the clock has kept it for a day. After a long stop
    files therefore live up to a day longer than they would.
    """

    __slots__ = ("_ahead", "_clock", "_origin", "_since", "doubted_ms")

    def __init__(self, clock: Clock, newest_ms: int | None) -> None:
        now = clock.now_ms()
        self._clock = clock
        self._origin = min(now, now if newest_ms is None else newest_ms) - clock.monotonic() * 1000
        self._ahead = 0
        self._since = clock.monotonic()
        self.doubted_ms = 0
        """How far the clock is ahead of what is believed, ms; 0 when it is believed."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, never ahead of the wall clock."""
        wall, monotonic = self._clock.now_ms(), self._clock.monotonic()
        believed = round(self._origin + monotonic * 1000)
        ahead = wall - believed
        if abs(ahead - self._ahead) > UNNOTICED_MS:
            self._ahead, self._since = ahead, monotonic
        if ahead > 0 and (ahead <= UNNOTICED_MS or monotonic - self._since >= BELIEVED_AFTER_SECONDS):
            self._origin += ahead
            self._ahead = ahead = 0
        self.doubted_ms = max(ahead, 0)
        return wall - self.doubted_ms


class Pressure(IntEnum):
    """How full the disk is."""

    NONE = 0
    CLEAN = 1
    """Expired files go at any hour."""
    FORCE = 2
    """The oldest files go whatever their age."""
    REFUSE = 3
    """As FORCE, and no message is taken."""


class DiskLimits(NamedTuple):
    """Percentages of the disk in use above which something happens.

    `enough_free_bytes`: with at least this much free the percentages do not count; 0 lets them always count.
    """

    clean_percent: int = 75
    force_percent: int = 85
    refuse_percent: int = 90
    enough_free_bytes: int = 10 << 30


def pressure(total_bytes: int, free_bytes: int, limits: DiskLimits) -> Pressure:
    """The pressure of a disk of `total_bytes` with `free_bytes` left."""
    if total_bytes <= 0 or (limits.enough_free_bytes and free_bytes >= limits.enough_free_bytes):
        return Pressure.NONE
    used = (total_bytes - free_bytes) * 100
    for level, percent in (
        (Pressure.REFUSE, limits.refuse_percent),
        (Pressure.FORCE, limits.force_percent),
        (Pressure.CLEAN, limits.clean_percent),
    ):
        if used > percent * total_bytes:
            return level
    return Pressure.NONE


def parse_hours(text: str) -> frozenset[int]:
    """The hours of the day in `text` ("04" or "04;16"). Raises ValueError when there is anything else."""
    hours = frozenset(int(word) for word in text.split(";") if word.strip())
    if not all(0 <= hour <= 23 for hour in hours):
        raise ValueError(f"{text!r}: hours go from 00 to 23")
    return hours


def files_to_delete(
    modified_ms: Sequence[int], now_ms: int, hour: int, keep_ms: int, hours: Collection[int], level: Pressure
) -> int:
    """How many of the oldest files go in this pass.

    `modified_ms`: last change of each file, oldest file first, the one being written last (it never goes);
    `hour`: the local hour; `keep_ms`: age that a file may reach; `hours`: when files that reached it go.
    """
    candidates = modified_ms[:-1][:FILES_PER_PASS_MAX]
    if level >= Pressure.FORCE:
        return len(candidates)
    if hour not in hours and level < Pressure.CLEAN:
        return 0
    for number, modified in enumerate(candidates):
        if now_ms - modified < keep_ms:
            return number
    return len(candidates)
