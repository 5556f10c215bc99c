"""Offsets of queues: as Spark's checkpoint holds them, and how far a micro-batch may go. Plain rules.

A checkpoint holds {"topic": {"broker/queue id": offset}}; each offset is the next one to read. A queue that
appears while a stream runs is first entered with the offset at which it begins, and read from there in the
next micro-batch: so where its reading began is in the checkpoint, whatever retention removes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe_spark.source.bounds import queue_named

Positions = Mapping[MessageQueue, int]

BEGIN: Final = ""
"""Stands among the topics of where a query begins until that is in its checkpoint."""


class DataLoss(FixError):
    """Messages that a query needs are gone: removed by age, or the queue was made anew."""


class Span(NamedTuple):
    """Messages of one queue from `start` to `end`, the latter not included."""

    queue: MessageQueue
    start: int
    end: int


def to_json(positions: Positions) -> dict[str, dict[str, int]]:
    """As the checkpoint holds them."""
    table: dict[str, dict[str, int]] = {}
    for queue in sorted(positions):
        table.setdefault(queue.topic, {})[f"{queue.broker_name}/{queue.queue_id}"] = positions[queue]
    return table


def from_json(table: Mapping[str, Any], wants: Callable[[str], bool]) -> dict[MessageQueue, int]:
    """What `to_json` wrote. Raises `FixError` when it is of topics that nobody `wants`, or cannot be read."""
    positions = {}
    for topic, queues in table.items():
        if topic == BEGIN:
            continue
        if not wants(topic):
            raise FixError(
                f"the checkpoint holds offsets of topic {topic}, which the options do not name; use another "
                "checkpointLocation for other topics"
            )
        for key, offset in queues.items():
            queue = queue_named(topic, key)
            if queue is None or not isinstance(offset, int):
                raise FixError(f"offset {key!r}: {offset!r} in the checkpoint is not broker/queue: offset")
            positions[queue] = offset
    return positions


def spans(start: Positions, end: Positions, *, anew: bool = False) -> list[Span]:
    """What lies between two positions, queue by queue.

    Raises `DataLoss` when an offset goes back; `anew`: it may, for queues that were made anew, see
    `next_positions`, and there is nothing to read of them.
    """
    found = []
    for queue in sorted(end):
        first, last = start.get(queue, end[queue]), end[queue]
        if last < first and not anew:
            raise DataLoss(lost(queue, first, f"the queue ends at {last}"))
        if first < last:
            found.append(Span(queue, first, last))
    return found


def split(found: Iterable[Span], parts: int, most: int) -> list[Span]:
    """`found` cut into pieces of `most` messages at most, and into `parts` pieces at least where they can be.

    Pieces of one queue are of nearly the same size, in order.
    """
    found = list(found)
    total = sum(span.end - span.start for span in found)
    pieces = []
    for queue, start, end in found:
        count = end - start
        cuts = min(max(-(-count // most), -(-count * parts // total)), count)
        bounds = [start + count * n // cuts for n in range(cuts + 1)]
        pieces += [Span(queue, low, high) for low, high in pairwise(bounds)]
    return pieces


def next_positions(start: Positions, first: Positions, heads: Positions) -> dict[MessageQueue, int]:
    """Where a micro-batch may end that begins at `start`.

    `heads`: the ends of the queues that can be read now; `first`: the beginnings of those that are to be
    entered, because `start` does not hold them or because they were made anew, whose offset goes back then.
    Queues that cannot be read now keep their offset. Raises `DataLoss` when another queue ends before its
    offset.
    """
    end = dict(start)
    for queue, head in heads.items():
        if queue in first:
            end[queue] = first[queue]
        elif head < start[queue]:
            raise DataLoss(lost(queue, start[queue], f"the queue ends at {head}"))
        else:
            end[queue] = head
    return end


def limited(start: Positions, end: Positions, most: int, *, anew: bool = False) -> dict[MessageQueue, int]:
    """`end` moved back so that at most `most` messages lie between; queues share it by what waits in each.

    Queues that are new in `end` stay as they are, since nothing of them is read yet. `anew` as in `spans`.
    """
    waiting = {span.queue: span.end - span.start for span in spans(start, end, anew=anew)}
    total = sum(waiting.values())
    if total <= most:
        return dict(end)
    shares = {queue: count * most // total for queue, count in waiting.items()}
    left = most - sum(shares.values())
    # What rounding left over goes to those who lost most by it.
    for queue in sorted(waiting, key=lambda q: (-(waiting[q] * most % total), q))[:left]:
        shares[queue] += 1
    return {**end, **{queue: start[queue] + share for queue, share in shares.items()}}


def lost(queue: MessageQueue, offset: int, what: str) -> str:
    """The message of a `DataLoss`."""
    return (
        f"messages are missing: topic {queue.topic}, broker {queue.broker_name}, queue {queue.queue_id}: "
        f"offset {offset} is needed, but {what}; start over from what is left (a new checkpointLocation for "
        "a stream), go on without them (failOnDataLoss = 'false'), or have brokers keep messages longer "
        "(store.keep_hours, fileReservedTime in a broker.conf)"
    )
