"""Finds where the copying of queues begins or goes on, by what both clusters hold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from mqframe import MessageQueue
from mqframe_mirror.link import MirrorLink, TargetQueue
from mqframe_mirror.reading import bounds, message_at, placed
from mqframe_mirror.rules.resuming import Arrived, going_on_at, last_before

AT_ONCE: Final = 16
"""Queues of the target that are read at the same time."""
Lane = tuple[str, int]
"""A queue of the source: its broker, and its id."""


async def last_arrived(
    link: MirrorLink, place: MessageQueue, ends: Mapping[Lane, int], *, whole: bool
) -> tuple[TargetQueue, dict[Lane, Arrived]]:
    """Where the target's queue `place` ends, and the last message there of each queue of the source.

    `ends`: where these end, each. It is read from where the mirror's group stands there, or all of it where
    there is no such place, or with `whole`.
    """
    puller = link.target.puller
    begin, end = await bounds(puller, place)
    committed = None if whole else await puller.committed(place)
    found: dict[Lane, Arrived] = {}
    async for each, key in placed(puller, place, max(begin, committed or 0), end):
        mark = each.mark
        if mark is not None and mark.cluster == link.source.name and mark.lane in ends:
            last = last_before((Arrived(mark.offset, key),), ends[mark.lane])
            if last is not None:
                found[mark.lane] = last
    return TargetQueue(place, end), found


async def position_of(
    link: MirrorLink, queue: MessageQueue, committed: int | None, last: Arrived | None
) -> int:
    """The offset of the next message of `queue` to copy; `last`: its last one at the target."""
    puller = link.source.puller
    begin, end = await bounds(puller, queue)
    proven = None
    if last is not None and last.offset < end:
        # Another message at its offset shows that the queue is another one: its topic was made anew.
        message = await message_at(puller, queue, last.offset) if last.offset >= begin else None
        if message is None or message.message_id == last.key:
            proven = last.offset + 1
        else:
            committed = None
    first = begin
    if link.settings.start == "last" and committed is None and proven is None:
        first = await _first_since(link, queue, end)
    return going_on_at(committed, proven, first, begin, end)


async def _first_since(link: MirrorLink, queue: MessageQueue, end: int) -> int:
    """The offset of the first message that was stored since the mirror began for the first time."""
    puller = link.source.puller
    found = await puller.offset_at(queue, link.since_ms)
    # Without such a message brokers give the last one.
    message = await message_at(puller, queue, found) if found < end else None
    return found + 1 if message is not None and message.store_timestamp < link.since_ms else found


async def find_positions(
    link: MirrorLink, places: Mapping[MessageQueue, MessageQueue]
) -> tuple[dict[MessageQueue, int], dict[MessageQueue, TargetQueue]]:
    """Where to begin in each queue of the source, and its target; `places`: the target's queue of each.

    Raises what pulls raise.
    """
    room = asyncio.Semaphore(AT_ONCE)
    positions: dict[MessageQueue, int] = {}
    targets: dict[MessageQueue, TargetQueue] = {}

    async def look(place: MessageQueue) -> None:
        queues = [queue for queue, each in places.items() if each == place]
        async with room:
            targets[place], found = await _positions_at(link, place, queues)
        positions.update(found)

    await asyncio.gather(*[look(place) for place in sorted(set(places.values()))])
    return positions, targets


async def _positions_at(
    link: MirrorLink, place: MessageQueue, queues: Sequence[MessageQueue]
) -> tuple[TargetQueue, dict[MessageQueue, int]]:
    """The same for the queues that are copied to one of the target."""
    puller = link.source.puller
    committed = {queue: await puller.committed(queue) for queue in queues}
    ends = {queue: (await bounds(puller, queue))[1] for queue in queues}
    # Progress that says nothing of a queue says nothing of where its last copies lie.
    whole = any(_says_nothing(committed[queue], ends[queue]) for queue in queues)
    lane_ends = {(queue.broker_name, queue.queue_id): ends[queue] for queue in queues}
    target, there = await last_arrived(link, place, lane_ends, whole=whole)
    positions = {
        queue: await position_of(
            link, queue, committed[queue], there.get((queue.broker_name, queue.queue_id))
        )
        for queue in queues
    }
    return target, positions


def _says_nothing(committed: int | None, end: int) -> bool:
    return committed is None or committed > end
