"""Finds where the copying of queues begins or goes on, by what both clusters hold."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Final

from mqframe_mirror.link import MirrorLink, TargetQueue
from mqframe_mirror.reading import bounds, message_at, placed
from mqframe_mirror.rules.resuming import Arrived, going_on_at, last_before

from mqframe import MessageQueue

ARRIVED_KEPT: Final = 256
"""Of each queue of the source so many of the last messages at the target are remembered meanwhile."""
Lane = tuple[str, int]
ArrivedLast = dict[Lane, deque[Arrived]]


async def arrived(link: MirrorLink, place: MessageQueue, *, whole: bool) -> tuple[TargetQueue, ArrivedLast]:
    """The last messages that lie in `place`, by queue of the source, and where it ends.

    It is read from where the mirror's group stands there, or all of it where there is none, or with `whole`.
    """
    puller = link.target.puller
    begin, end = await bounds(puller, place)
    committed = None if whole else await puller.committed(place)
    found: ArrivedLast = defaultdict(lambda: deque(maxlen=ARRIVED_KEPT))
    async for each, key in placed(puller, place, max(begin, committed or 0), end):
        if each.mark is not None and each.mark.cluster == link.source.name:
            found[each.mark.lane].append(Arrived(each.mark.offset, key))
    return TargetQueue(place, end), found


async def position_of(
    link: MirrorLink, queue: MessageQueue, committed: int | None, there: Iterable[Arrived]
) -> int:
    """The offset of the next message of `queue` to copy; `there`: its last ones at the target."""
    puller = link.source.puller
    begin, end = await bounds(puller, queue)
    last, proven = last_before(there, end), None
    if last is not None:
        # Another message at its offset shows that the queue is another one: its topic was made anew.
        message = await message_at(puller, queue, last.offset) if last.offset >= begin else None
        if message is None or message.message_id == last.key:
            proven = last.offset + 1
    first = begin
    if link.settings.start == "last" and committed is None and proven is None:
        first = await puller.offset_at(queue, link.since_ms)
    return going_on_at(committed, proven, first, begin, end)


async def find_positions(
    link: MirrorLink, places: Mapping[MessageQueue, MessageQueue]
) -> tuple[dict[MessageQueue, int], dict[MessageQueue, TargetQueue]]:
    """Where to begin in each queue of the source, and its target; `places`: the target's queue of each.

    Raises what pulls raise.
    """
    committed = {queue: await link.source.puller.committed(queue) for queue in places}
    positions: dict[MessageQueue, int] = {}
    targets: dict[MessageQueue, TargetQueue] = {}
    for place in sorted(set(places.values())):
        lanes = [queue for queue, each in places.items() if each == place]
        whole = any(committed[queue] is None for queue in lanes)
        targets[place], there = await arrived(link, place, whole=whole)
        for queue in lanes:
            last = there.get((queue.broker_name, queue.queue_id), ())
            positions[queue] = await position_of(link, queue, committed[queue], last)
    return positions, targets
