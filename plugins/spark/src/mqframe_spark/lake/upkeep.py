"""What keeps files of the lake few, and old ones away: the same words for folders and for tables."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mqframe.core.errors import RetryError


class UpkeepBusy(RetryError):
    """Another process is at the same work."""


class Crowd(NamedTuple):
    """Small files of a topic and a UTC day of storage: how many, and their size, bytes."""

    topic: str
    day: str
    files: int
    size_bytes: int


class Upkeep(Protocol):
    """Puts small files together and removes old ones, while others write and read.

    Each call may be killed at any moment: every message stays in what readers see, once.
    """

    def crowds(self, open_day: str, files_min: int) -> list[Crowd]:
        """Where there are at least `files_min` small files, or 2 on a day before `open_day`.

        A small file has less than half of the size that is aimed at. Raises `OSError` or an error of mqframe.
        """
        ...

    def merge(self, crowd: Crowd) -> int:
        """Put files of `crowd` together, in one step for readers; gives how many fewer there are then.

        0: there is nothing more to do. Raises as `crowds`, and `UpkeepBusy`; it may have been done then.
        """
        ...

    def vacuum(self, hours: float, *, dry_run: bool) -> list[str]:
        """Remove, or with `dry_run` only name, files that nothing needs for `hours` already.

        Raises as `merge`; then some may be gone.
        """
        ...


def is_crowd(small: int, day: str, open_day: str, files_min: int) -> bool:
    """Whether `small` files of `day` are to be put together."""
    return small >= (2 if day < open_day else max(2, files_min))
