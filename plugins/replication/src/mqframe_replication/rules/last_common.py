"""Up to where two logs are the same, found by asking for few records of one (replication.md §1.5)."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from mqframe.core.storage.log_scan import LogRecord

F = TypeVar("F")


class OwnLog(Protocol[F]):
    """The log that is compared, in files of some kind: as `ClosedLog`."""

    @property
    def files(self) -> Sequence[F]:
        """The files, oldest first."""

    def records(self, file: F, /) -> Iterator[LogRecord]:
        """The sound records of `file`."""

    def bytes_at(self, start: int, end: int) -> bytes:
        """What lies from log offset `start` to before `end`, in one file."""


def last_common(log: OwnLog[F], low: int) -> Generator[int, bytes | None, int | None]:
    """Where the last record ends that `log` and another one have in common; `None` where they have none.

    Yields log offsets, and wants to be sent what the other log has there as a record, `None` for nothing.
    `low`: oldest log offset that the other one keeps. Logs that agree at a record agree before it, so halves
    are looked at, first of the files, then of one file's records.
    """
    firsts = list(_firsts(log, low))
    number = yield from _agreeing(log, [first for _, first in firsts])
    if number == 0:
        return None
    records = [each for each in log.records(firsts[number - 1][0]) if each.physical_offset >= low]
    count = yield from _agreeing(log, records)
    return records[count - 1].end


def _firsts(log: OwnLog[F], low: int) -> Iterable[tuple[F, LogRecord]]:
    """The first record of each file that both keep."""
    for file in log.files:
        first = next((each for each in log.records(file) if each.physical_offset >= low), None)
        if first is not None:
            yield file, first


def _agreeing(log: OwnLog[F], records: Sequence[LogRecord]) -> Generator[int, bytes | None, int]:
    """How many of `records`, in order, both logs have."""
    low, high = 0, len(records)
    while low < high:
        middle = (low + high) // 2
        record = records[middle]
        theirs = yield record.physical_offset
        if theirs == log.bytes_at(record.physical_offset, record.end):
            low = middle + 1
        else:
            high = middle
    return low
