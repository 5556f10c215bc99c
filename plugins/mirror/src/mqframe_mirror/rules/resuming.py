"""Where the copying of a queue goes on: after a start, and after a send of which nobody knows the end.

Two things say how far it was. The committed offset of the mirror's group, at the source, is never ahead: all
that lies before it is at the target. The marks of the copies at the target's end are exact: the last one that
is there is of the last message that arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Arrived(NamedTuple):
    """A message that is at the target: its offset at the source, and its unique key."""

    offset: int
    key: str


def last_before(arrived: Iterable[Arrived], end: int) -> Arrived | None:
    """The last of `arrived`, in the order in which they lie there, that a queue with this end may hold.

    What lies at or behind the end of the source's queue is of an older one of that name, or was lost there.
    """
    return next((each for each in reversed(list(arrived)) if each.offset < end), None)


def going_on_at(committed: int | None, proven: int | None, first: int, begin: int, end: int) -> int:
    """The offset of the next message to copy, of a source's queue that holds `begin` to `end`, exclusive.

    `committed`: of the mirror's group, `None` without one; `proven`: behind the last message that is known to
    be at the target; `first`: where a queue begins that was never copied. An offset behind the end is of a
    queue that is no more, and does not count.
    """
    known = [each for each in (committed, proven) if each is not None and each <= end]
    return min(max(max(known, default=first), begin), end)
