"""Administration of consumer groups: configuration, progress, and whether they pull or pop."""

from __future__ import annotations

import builtins
from itertools import chain
from operator import itemgetter

from mqframe_assignment.requests import GetAllMessageRequestMode, SetMessageRequestMode
from mqframe_assignment.rules.bodies import RequestModeBody, RequestModeTable
from mqframe_assignment.rules.request_modes import POP, PULL

from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper
from mqframe.core.consuming.group_config import SubscriptionGroupConfig, SubscriptionGroupTable
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_group, check_topic
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig, GetConsumeStats
from mqframe_admin.bodies import GroupForbidden
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.members import AsyncMemberAdmin
from mqframe_admin.requests import (
    DeleteSubscriptionGroup,
    UpdateAndCreateSubscriptionGroup,
    UpdateAndGetGroupForbidden,
)


class AsyncGroupAdmin:
    """Consumer groups."""

    def __init__(self, calls: AdminCalls, members: AsyncMemberAdmin) -> None:
        self._calls = calls
        self._members = members

    async def create(
        self, group: str | SubscriptionGroupConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> None:
        """Create or change a consumer group, given by name or with its whole configuration."""
        config = SubscriptionGroupConfig(group) if isinstance(group, str) else group
        check_group(config.group_name)
        masters = await self._calls.masters(cluster=cluster, broker=broker)
        await self._calls.call_all(masters.values(), UpdateAndCreateSubscriptionGroup(), config)

    async def delete(self, group: str, *, clean_offsets: bool = False) -> None:
        """Delete a consumer group on all masters; its progress too with `clean_offsets`."""
        await self._calls.call_masters(DeleteSubscriptionGroup(group, clean_offsets))

    async def configs(self) -> dict[str, SubscriptionGroupConfig]:
        """The configuration of all consumer groups by name, sorted."""
        found = await self._calls.ask_masters(GetAllSubscriptionGroupConfig(), SubscriptionGroupTable)
        configs = chain.from_iterable(each.subscription_group_table.items() for each in found)
        return dict(sorted(configs, key=itemgetter(0)))

    async def list(self) -> builtins.list[str]:
        """Names of all consumer groups, sorted."""
        return list(await self.configs())

    async def stats(self, group: str, topic: str | None = None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in each queue, of all its topics or of `topic`; the lag is broker - consumer."""
        found = await self._calls.ask_masters(GetConsumeStats(group, topic or ""), ConsumeStats)
        stats = chain.from_iterable(each.offset_table.items() for each in found)
        return dict(sorted(stats, key=itemgetter(0)))

    async def lag(self, group: str, topic: str | None = None) -> int:
        """How many messages `group` has still to consume, of all its topics or of `topic`.

        Raises `RouteError` for a topic, and `FixError` for a group that no broker knows: neither by its
        configuration nor by progress or members.
        """
        stats = await self.stats(group, topic)
        if not any(each.consumer_offset for each in stats.values()):
            await self._check_known(group, topic)
        return sum(max(0, each.broker_offset - each.consumer_offset) for each in stats.values())

    async def set_request_mode(self, group: str, topic: str, mode: str, *, share: int = 0) -> None:
        """Let members of `group` read `topic` by PULL or POP from their next rebalance on.

        `share`: how many further members each shares its popped queues with; 0: with all. Sent to all
        masters that have the topic. Raises `FixError` for another mode, a topic that no broker has, or a
        group that one does not know.
        """
        check_group(group)
        check_topic(topic)
        if mode not in (PULL, POP):
            raise FixError(f"mode {mode!r}: a topic is read by {PULL} or {POP}")
        body = RequestModeBody(topic, group, mode, share)
        await self._calls.call_all(
            (await self._calls.topic_masters(topic)).values(), SetMessageRequestMode(), body
        )

    async def request_modes(self, group: str | None = None) -> builtins.list[RequestModeBody]:
        """All modes that were set, or those of `group`, by topic and group; PULL where nothing was set."""
        found: dict[tuple[str, str], RequestModeBody] = {}
        for each in await self._calls.ask_masters(GetAllMessageRequestMode(), RequestModeTable):
            for topic, groups in each.message_request_mode_map.items():
                found |= {(topic, name): mode for name, mode in groups.items() if group in (None, name)}
        return [mode for _, mode in sorted(found.items())]

    async def readable(self, group: str, topic: str, readable: bool | None = None) -> bool:
        """Whether `group` may read `topic` on all its brokers; set first when `readable` is given."""
        request = UpdateAndGetGroupForbidden(group, topic, readable)
        answers = await self._calls.ask_topic(topic, request, GroupForbidden)
        return all(each.readable for each in answers.values())

    async def _check_known(self, group: str, topic: str | None) -> None:
        """Brokers tell of groups and topics that there are not as of those without any progress."""
        if topic is not None:
            await self._calls.instance.route(topic, refresh=True)
        known = await self.list()
        if group in known or await self.stats(group):
            return
        if not (await self._members.consumers(group)).connection_set:
            meant = did_you_mean(group, known) or "no broker has its configuration, progress or members"
            raise FixError(f"there is no group {group}; {meant}")
