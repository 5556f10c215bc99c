"""Administration of consumer groups: configuration, members, progress, and whether they pull or pop."""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from operator import itemgetter

from mqframe.client.admin.calls import AdminCalls, body_of, unless
from mqframe.core.cluster.client_bodies import ConsumerConnection, ProducerConnection
from mqframe.core.codes import ResponseCode
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.consuming.bodies import ConsumeStats, OffsetWrapper
from mqframe.core.consuming.group_config import SubscriptionGroupConfig, SubscriptionGroupTable
from mqframe.core.errors import FixError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import check_group, check_topic
from mqframe.core.moments import moment_ms
from mqframe.core.popping.assignment import POP, PULL
from mqframe.core.popping.bodies import RequestModeBody, RequestModeTable
from mqframe.core.requests.admin import (
    DeleteSubscriptionGroup,
    GetAllSubscriptionGroupConfig,
    GetConsumerConnectionList,
    GetConsumeStats,
    GetProducerConnectionList,
    UpdateAndCreateSubscriptionGroup,
)
from mqframe.core.requests.consumers import (
    GetEarliestMsgStoretime,
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    SearchOffsetByTimestamp,
    TimestampAnswer,
)
from mqframe.core.requests.fields import Request
from mqframe.core.requests.pop import GetAllMessageRequestMode, SetMessageRequestMode
from mqframe.core.wire.frame import Frame

_NOBODY = (
    ResponseCode.CONSUMER_NOT_ONLINE,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    ResponseCode.SYSTEM_ERROR,
)


class GroupAdmin(AdminCalls):
    """Consumer groups and offsets. Offsets count messages, times are milliseconds since 1970."""

    async def create_group(
        self, group: str | SubscriptionGroupConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> None:
        """Create or change a consumer group, given by name or with its whole configuration."""
        config = SubscriptionGroupConfig(group) if isinstance(group, str) else group
        check_group(config.group_name)
        masters = await self.masters(cluster=cluster, broker=broker)
        await self._call_all(masters.values(), UpdateAndCreateSubscriptionGroup(), config)

    async def delete_group(self, group: str, *, clean_offsets: bool = False) -> None:
        """Delete a consumer group on all masters; its progress too with `clean_offsets`."""
        await self._call_masters(DeleteSubscriptionGroup(group, clean_offsets))

    async def group_configs(self) -> dict[str, SubscriptionGroupConfig]:
        """The configuration of all consumer groups by name, sorted."""
        found = await self._ask_masters(GetAllSubscriptionGroupConfig(), SubscriptionGroupTable)
        configs = chain.from_iterable(each.subscription_group_table.items() for each in found)
        return dict(sorted(configs, key=itemgetter(0)))

    async def list_groups(self) -> list[str]:
        """Names of all consumer groups, sorted."""
        return list(await self.group_configs())

    async def consumer_connections(self, group: str) -> ConsumerConnection:
        """Members of a consumer group and their subscriptions; no members when nobody is online."""
        answer = await self._first_online(GetConsumerConnectionList(group))
        return ConsumerConnection() if answer is None else body_of(answer, ConsumerConnection)

    async def producer_connections(self, group: str) -> ProducerConnection:
        """Members of a producer group; none when nobody is online."""
        answer = await self._first_online(GetProducerConnectionList(group))
        return ProducerConnection() if answer is None else body_of(answer, ProducerConnection)

    async def _first_online(self, request: Request) -> Frame | None:
        """The answer of the first master that has members online; `None` when none has."""
        for address in (await self.masters()).values():
            answer = await unless(_NOBODY, self._call(address, request))
            if answer is not None:
                return answer
        return None

    async def consume_stats(self, group: str, topic: str | None = None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in each queue, of all its topics or of `topic`; the lag is broker - consumer."""
        found = await self._ask_masters(GetConsumeStats(group, topic or ""), ConsumeStats)
        stats = chain.from_iterable(each.offset_table.items() for each in found)
        return dict(sorted(stats, key=itemgetter(0)))

    async def lag(self, group: str, topic: str | None = None) -> int:
        """How many messages `group` has still to consume, of all its topics or of `topic`.

        Raises `RouteError` for a topic, and `FixError` for a group that no broker knows: neither by its
        configuration nor by progress or members.
        """
        stats = await self.consume_stats(group, topic)
        if not any(each.consumer_offset for each in stats.values()):
            await self._check_known(group, topic)
        return sum(max(0, each.broker_offset - each.consumer_offset) for each in stats.values())

    async def _check_known(self, group: str, topic: str | None) -> None:
        """Brokers tell of groups and topics that there are not as of those without any progress."""
        if topic is not None:
            await self._instance.route(topic, refresh=True)
        known = await self.list_groups()
        if group in known or await self.consume_stats(group):
            return
        if not (await self.consumer_connections(group)).connection_set:
            meant = did_you_mean(group, known) or "no broker has its configuration, progress or members"
            raise FixError(f"there is no group {group}; {meant}")

    async def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset of `queue` that can still be read."""
        request = GetMinOffset(queue.topic, queue.queue_id, bname=queue.broker_name)
        return (await self._ask_queue(queue, request, OffsetAnswer)).offset

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        request = GetMaxOffset(queue.topic, queue.queue_id, bname=queue.broker_name)
        return (await self._ask_queue(queue, request, OffsetAnswer)).offset

    async def search_offset(
        self, queue: MessageQueue, timestamp_ms: int | datetime, *, upper: bool = False
    ) -> int:
        """The offset of the first (`upper`: last) message of `queue` stored at a time, or next to it.

        `timestamp_ms`: since 1970, or a datetime with its zone. Raises `FixError` for another one.
        """
        at = moment_ms(timestamp_ms, "timestamp_ms")
        which = "UPPER" if upper else "LOWER"
        request = SearchOffsetByTimestamp(queue.topic, queue.queue_id, at, which, queue.broker_name)
        return (await self._ask_queue(queue, request, OffsetAnswer)).offset

    async def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of `queue` was stored, ms."""
        request = GetEarliestMsgStoretime(queue.topic, queue.queue_id, bname=queue.broker_name)
        return (await self._ask_queue(queue, request, TimestampAnswer)).timestamp

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
        await self._call_all((await self._topic_masters(topic)).values(), SetMessageRequestMode(), body)

    async def request_modes(self, group: str | None = None) -> list[RequestModeBody]:
        """All modes that were set, or those of `group`, by topic and group; PULL where nothing was set."""
        found: dict[tuple[str, str], RequestModeBody] = {}
        for each in await self._ask_masters(GetAllMessageRequestMode(), RequestModeTable):
            for topic, groups in each.message_request_mode_map.items():
                found |= {(topic, name): mode for name, mode in groups.items() if group in (None, name)}
        return [mode for _, mode in sorted(found.items())]
