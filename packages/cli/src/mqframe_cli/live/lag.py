"""How far groups are behind: all at a glance, or one queue by queue with who owns it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from mqframe_admin.rules.lag import lag_of, queue_owners

from mqframe.core.errors import AnswerError, MqframeError, RouteError
from mqframe.core.messages.names import is_system_group
from mqframe_cli.output import queue_columns, time_text

if TYPE_CHECKING:
    from mqframe_admin.bodies import TopicOffset

    from mqframe import Admin, MessageQueue
    from mqframe.core.consuming.bodies import OffsetWrapper
    from mqframe.core.consuming.running_info import ConsumerRunningInfo

ASKED_AT_ONCE: Final = 8
"""Members, or topics, that are asked at the same time."""
UNKNOWN: Final = "?"
"""The owner of a queue that nobody names, while a member does not answer."""


def topic_offsets(admin: Admin, topics: Sequence[str]) -> dict[str, Collection[TopicOffset]]:
    """What each queue of `topics` holds, in their order; nothing of one that has just been deleted."""

    def held(topic: str) -> Collection[TopicOffset]:
        try:
            return admin.topics.stats(topic).values()
        except (AnswerError, RouteError):
            return ()

    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        return dict(zip(topics, pool.map(held, topics), strict=True))


def group_offsets(admin: Admin) -> dict[str, dict[MessageQueue, OffsetWrapper]]:
    """The progress of all groups in all queues, by group; one question for each broker."""
    found: dict[str, dict[MessageQueue, OffsetWrapper]] = {}
    for address in admin.cluster.masters().values():
        for table in admin.brokers.progress(address).consume_stats_list:
            for group, stats in table.items():
                offsets = found.setdefault(group, {})
                for each in stats:
                    offsets.update(each.offset_table)
    return found


def all_lags(admin: Admin, *, every: bool) -> list[dict[str, Any]]:
    """A row for each group, the furthest behind first; `every`: also those of the system."""
    known: dict[str, dict[MessageQueue, OffsetWrapper]] = {group: {} for group in admin.groups.list()}
    progress = known | group_offsets(admin)
    rows = [
        {
            "group": group,
            "lag": sum(map(lag_of, offsets.values())),
            "topics": len({queue.topic for queue in offsets}),
            "queues": len(offsets),
            "consumed_until": time_text(_consumed_until(offsets.values())),
        }
        for group, offsets in progress.items()
        if every or not is_system_group(group)
    ]
    return sorted(rows, key=lambda row: (-row["lag"], row["group"]))


def queue_lags(admin: Admin, group: str) -> list[dict[str, Any]]:
    """A row for each queue of `group`, by topic, broker and queue."""
    infos, silent = members_of(admin, group)
    owners = queue_owners(infos)
    return [
        {
            **queue_columns(queue),
            "lag": lag_of(each),
            "consumed": each.consumer_offset,
            "end": each.broker_offset,
            "owner": ", ".join(owners.get(queue, ())) or (UNKNOWN if silent else ""),
            "last": time_text(each.last_timestamp),
        }
        for queue, each in admin.groups.stats(group).items()
    ]


def members_of(admin: Admin, group: str) -> tuple[dict[str, ConsumerRunningInfo], list[str]]:
    """What the members of `group` tell, by client id, and those that do not answer."""
    members = [each.client_id for each in admin.members.consumers(group).connection_set]

    def ask(client: str) -> ConsumerRunningInfo | None:
        try:
            return admin.members.running_info(group, client)
        except MqframeError:
            return None  # it has just gone, or its client cannot tell

    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        answers = dict(zip(members, pool.map(ask, members), strict=True))
    silent = [client for client, info in answers.items() if info is None]
    return {client: info for client, info in answers.items() if info is not None}, silent


def _consumed_until(offsets: Iterable[OffsetWrapper]) -> int:
    """When the message that was consumed last was stored, ms, in the queue that is furthest behind, or 0."""
    return min(
        (each.last_timestamp for each in offsets if lag_of(each) and each.last_timestamp > 0), default=0
    )
