"""Administration of consumer groups, their members and their progress."""

from __future__ import annotations

from mqframe.client.admin_calls import AdminCalls, body_of
from mqframe.core import loosejson
from mqframe.core.bodies import (
    ConsumerConnection,
    ConsumeStats,
    OffsetWrapper,
    ProducerConnection,
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
)
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError
from mqframe.core.message import MessageQueue
from mqframe.core.requests import decode_fields
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
from mqframe.core.topics import check_group

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
        body = loosejson.dumps(config)
        await self._call_all(list(masters.values()), UpdateAndCreateSubscriptionGroup(), body)

    async def delete_group(self, group: str, *, clean_offsets: bool = False) -> None:
        """Delete a consumer group on all masters; its progress too with `clean_offsets`."""
        request = DeleteSubscriptionGroup(group, clean_offsets)
        await self._call_all(list((await self.masters()).values()), request)

    async def group_configs(self) -> dict[str, SubscriptionGroupConfig]:
        """The configuration of all consumer groups by name, sorted."""
        configs: dict[str, SubscriptionGroupConfig] = {}
        masters = await self.masters()
        for answer in await self._call_all(list(masters.values()), GetAllSubscriptionGroupConfig()):
            configs |= body_of(answer, SubscriptionGroupTable).subscription_group_table
        return dict(sorted(configs.items()))

    async def list_groups(self) -> list[str]:
        """Names of all consumer groups, sorted."""
        return list(await self.group_configs())

    async def consumer_connections(self, group: str) -> ConsumerConnection:
        """Members of a consumer group and their subscriptions; no members when nobody is online."""
        for address in (await self.masters()).values():
            try:
                return body_of(
                    await self._instance.call(address, GetConsumerConnectionList(group)), ConsumerConnection
                )
            except AnswerError as problem:
                if problem.code not in _NOBODY:
                    raise
        return ConsumerConnection()

    async def producer_connections(self, group: str) -> ProducerConnection:
        """Members of a producer group; none when nobody is online."""
        for address in (await self.masters()).values():
            try:
                return body_of(
                    await self._instance.call(address, GetProducerConnectionList(group)), ProducerConnection
                )
            except AnswerError as problem:
                if problem.code not in _NOBODY:
                    raise
        return ProducerConnection()

    async def consume_stats(self, group: str, topic: str | None = None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in each queue, of all its topics or of `topic`; the lag is broker - consumer."""
        stats: dict[MessageQueue, OffsetWrapper] = {}
        masters = await self.masters()
        for answer in await self._call_all(list(masters.values()), GetConsumeStats(group, topic or "")):
            stats.update(body_of(answer, ConsumeStats).offset_table)
        return dict(sorted(stats.items()))

    async def lag(self, group: str, topic: str | None = None) -> int:
        """How many messages `group` has still to consume."""
        stats = await self.consume_stats(group, topic)
        return sum(max(0, each.broker_offset - each.consumer_offset) for each in stats.values())

    async def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset of `queue` that can still be read."""
        answer = await self._instance.call(
            await self._queue_address(queue),
            GetMinOffset(queue.topic, queue.queue_id, bname=queue.broker_name),
        )
        return decode_fields(answer.ext, OffsetAnswer).offset

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        answer = await self._instance.call(
            await self._queue_address(queue),
            GetMaxOffset(queue.topic, queue.queue_id, bname=queue.broker_name),
        )
        return decode_fields(answer.ext, OffsetAnswer).offset

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int, *, upper: bool = False) -> int:
        """The offset of the first (`upper`: last) message of `queue` stored at a time, or next to it."""
        request = SearchOffsetByTimestamp(
            queue.topic, queue.queue_id, timestamp_ms, "UPPER" if upper else "LOWER", queue.broker_name
        )
        answer = await self._instance.call(await self._queue_address(queue), request)
        return decode_fields(answer.ext, OffsetAnswer).offset

    async def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of `queue` was stored, ms."""
        answer = await self._instance.call(
            await self._queue_address(queue),
            GetEarliestMsgStoretime(queue.topic, queue.queue_id, bname=queue.broker_name),
        )
        return decode_fields(answer.ext, TimestampAnswer).timestamp
