"""Keys whose hashes somebody else has made, of records with times of their own."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter


class TimedPairs:
    """(hash, log offset, time in ms) of each key; all of one time where `timed` is False."""

    def __init__(self, entries: list[tuple[int, int, int]], *, timed: bool = True) -> None:
        self.entries = entries
        self.timed = timed

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, at: int) -> tuple[int, int]:
        return self.entries[at][:2]

    def of_one_second(self, skip: int, most: int, begin: int) -> tuple[int, int] | None:
        """As `HashedPairs.of_one_second`."""
        if not self.timed:
            return None

        def moment(entry: tuple[int, int, int]) -> int:
            return entry[2] if begin < 0 else (entry[2] - begin) // 1000 if 0 < begin < entry[2] else 0

        alike = [each for each in self.entries[skip:] if moment(each) == moment(self.entries[skip])][:most]
        return len(alike), alike[-1][2]

    def by_time(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """As `HashedPairs.by_time`."""
        groups = groupby(self.entries, key=itemgetter(2))
        return [(time, [each[:2] for each in group]) for time, group in groups] if self.timed else []
