"""Epochs of a log: where the term of each leader began in it (election.md §2).

Two logs that hold the same epoch hold the same bytes of it, as only one leader wrote them. So two histories
tell how far two logs agree, without a look at the logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple
from zlib import crc32

from mqframe.core.errors import StoreError

UNLED: Final = 0
"""The epoch of what was stored before a leader was ever elected."""


class Term(NamedTuple):
    """`epoch`: its number; `start`: log offset, bytes, of the first byte that was stored in it."""

    epoch: int
    start: int


class EpochHistory:
    """The terms that a log holds something of, oldest first. Epochs grow; starts never go back.

    A term ends where the next one begins; the last one where the log ends. One in which nothing was stored
    may begin where the next one does, or be missing.
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Iterable[tuple[int, int]] = ()) -> None:
        """Raises `StoreError` when `terms` are out of order."""
        self.terms = tuple(Term(*each) for each in terms)
        for before, each in zip(self.terms, self.terms[1:], strict=False):
            if each.epoch <= before.epoch or each.start < before.start:
                raise StoreError(f"epochs of the log out of order: {tuple(each)} after {tuple(before)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpochHistory) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    def __repr__(self) -> str:
        return f"EpochHistory({[tuple(each) for each in self.terms]})"

    @property
    def last_epoch(self) -> int:
        """The epoch of the log's end; `UNLED` where there was no leader yet."""
        return self.terms[-1].epoch if self.terms else UNLED

    def begin(self, epoch: int, start: int) -> EpochHistory:
        """With a term that begins at log offset `start`. Raises `StoreError` for one that is not newer."""
        return EpochHistory([*self.terms, Term(epoch, start)])

    def cut(self, end: int) -> EpochHistory:
        """What is left of it when the log is cut at `end`, or ends there."""
        return EpochHistory(each for each in self.terms if each.start < end)

    def trim(self, start: int) -> EpochHistory:
        """What is left when the log begins at `start`, as older files were deleted."""
        kept = [each for each in self.terms if each.start > start]
        before = [each for each in self.terms if each.start <= start]
        return EpochHistory([*([Term(before[-1].epoch, start)] if before else []), *kept])

    def at(self, offset: int) -> int:
        """The epoch of the byte at log offset `offset`."""
        found = [each.epoch for each in self.terms if each.start <= offset]
        return found[-1] if found else UNLED

    def end_of_epoch_at(self, offset: int) -> int | None:
        """Where the epoch ends that holds the byte at `offset`; `None`: at the log's end."""
        return next((each.start for each in self.terms if each.start > offset), None)

    def common_end(self, end: int, other: EpochHistory, other_end: int) -> int | None:
        """Up to which log offset this log agrees with one of the history `other`; they end at the two ends.

        `None`: they have no epoch in common, as far as histories tell. Of the newest epoch that both have,
        the shorter part counts. Logs that both begin at 0 agree up to there at least.
        """
        theirs = {each.epoch for each in other.terms}
        for each in reversed(self.terms):
            if each.epoch in theirs:
                return min(self._end(each.epoch, end), other._end(each.epoch, other_end))
        begins = [each.terms[0].start for each in (self, other) if each.terms]
        return 0 if begins == [0, 0] else None

    def _end(self, epoch: int, log_end: int) -> int:
        return next((each.start for each in self.terms if each.epoch > epoch), log_end)

    # The file

    def encode(self) -> bytes:
        """As Apache's brokers in controller mode keep it: count, checksum, a line for each epoch."""
        rest = "".join(f"{each.epoch}-{each.start}\n" for each in self.terms)
        return f"{len(self.terms)}\n{_checksum(rest)}\n{rest}".encode()

    @classmethod
    def decode(cls, data: bytes) -> EpochHistory:
        """The inverse of `encode`. Raises `StoreError` for what is damaged."""
        try:
            count, checksum, *lines = data.decode("ascii").splitlines()
            rest = "".join(f"{line}\n" for line in lines)
            if (int(count), int(checksum)) != (len(lines), _checksum(rest)):
                raise ValueError("count or checksum do not fit the lines")
            pairs = (line.partition("-") for line in lines)
            return cls((int(epoch), int(start)) for epoch, _, start in pairs)
        except ValueError as problem:  # also of text that is none
            raise StoreError(f"the list of epochs is damaged: {problem}") from None


def _checksum(text: str) -> int:
    """31 bits, as there (source: UtilAll.crc32)."""
    return crc32(text.encode()) & 0x7FFFFFFF
