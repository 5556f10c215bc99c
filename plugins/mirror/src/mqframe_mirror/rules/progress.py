"""Where a group that goes on at the target has to begin, from how far it is at the source.

It is placed on the first message of the target's queue, from where it stands on, that it has not consumed: a
copy whose message lies at or behind its offset at the source, or a message that is no copy from there. So
nothing is skipped. What comes twice is what it consumed at the source since its offsets there were read, and,
where several queues of the source share one of the target, what lies behind that first message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mqframe_mirror.rules.marks import Mark

Consumed = Mapping[tuple[str, int], int]
"""The offset of a group in each queue of the source, by broker and queue id."""


class Placed(NamedTuple):
    """A message of the target: its offset there, and its mark, `None` of one that is no copy."""

    offset: int
    mark: Mark | None


def was_consumed(mark: Mark | None, cluster: str, consumed: Consumed) -> bool:
    """Whether the group has consumed the message of a copy, at the cluster `cluster`."""
    return mark is not None and mark.cluster == cluster and mark.offset < consumed.get(mark.lane, 0)


def first_unconsumed(messages: Iterable[Placed], cluster: str, consumed: Consumed) -> int | None:
    """The target's offset of the first of `messages` that the group has not consumed; `None`: all are."""
    for message in messages:
        if not was_consumed(message.mark, cluster, consumed):
            return message.offset
    return None
