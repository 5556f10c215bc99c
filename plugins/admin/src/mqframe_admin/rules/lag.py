"""How far a group is behind, and which of its members hold which queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper
from mqframe.core.consuming.running_info import ConsumerRunningInfo
from mqframe.core.messages.message import MessageQueue


def lag_of(progress: OffsetWrapper) -> int:
    """Messages of a queue that are yet to be consumed."""
    return max(0, progress.broker_offset - progress.consumer_offset)


def queue_owners(infos: Mapping[str, ConsumerRunningInfo]) -> dict[MessageQueue, list[str]]:
    """Which members hold each queue, sorted. `infos`: what each member tells, by client id.

    Where a group pops, several may hold one queue.
    """
    owners: dict[MessageQueue, list[str]] = {}
    for client, info in sorted(infos.items()):
        held = [queue for queue, each in info.mq_table.items() if not each.dropped]
        popped = [queue for queue, each in info.mq_pop_table.items() if not each.dropped]
        for queue in dict.fromkeys(held + popped):
            owners.setdefault(queue, []).append(client)
    return owners


def group_lags(groups: Iterable[Mapping[str, Iterable[ConsumeStats]]]) -> dict[str, int]:
    """How many messages each group has yet to consume, of all its topics at a broker that tells `groups`."""
    found: dict[str, int] = {}
    for each in groups:
        for group, topics in each.items():
            lag = sum(lag_of(queue) for topic in topics for queue in topic.offset_table.values())
            found[group] = found.get(group, 0) + lag
    return found
