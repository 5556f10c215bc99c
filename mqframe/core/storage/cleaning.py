"""Clean-up rules: which log files are deleted, when writes are refused (store.md §4, behaviour.md §3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

FILES_PER_PASS_MAX: Final = 10


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
