"""Looking into consumers, brokers' statistics, and the traces of messages."""

from __future__ import annotations

from typing import Final

from mqframe.client.admin_calls import body_of
from mqframe.client.admin_groups import GroupAdmin
from mqframe.client.admin_messages import MessageAdmin
from mqframe.core.broker_info import BrokerStatsData, ConsumeStatsList, GroupForbidden
from mqframe.core.codes import ResponseCode
from mqframe.core.consumer_info import ConsumerRunningInfo, ConsumerStatus, DirectResult
from mqframe.core.errors import AnswerError, FixError, MqframeError
from mqframe.core.ids import parse_offset_id
from mqframe.core.message import MessageQueue
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetBrokerConsumeStats,
    GetConsumerRunningInfo,
    InvokeBrokerToGetConsumerStatus,
    UpdateAndGetGroupForbidden,
    ViewBrokerStatsData,
)
from mqframe.core.topics import TRACE_TOPIC
from mqframe.core.trace import TraceKind, TraceRecord, decode_records

_ORDER: Final = {kind: number for number, kind in enumerate(TraceKind)}
RELAY_SECONDS: Final = 12.0
"""Brokers wait 10 s for a member."""


class MemberAdmin(GroupAdmin, MessageAdmin):
    """Members of consumer groups, statistics, traces. Times are in ms."""

    async def running_info(self, group: str, client_id: str, *, stacks: bool = False) -> ConsumerRunningInfo:
        """What one member holds, counts and is set to; with `stacks` also what its threads do.

        Raises `AnswerError` when it is not online or does not answer.
        """
        request = GetConsumerRunningInfo(group, client_id, stacks)
        problem: MqframeError = FixError(f"no broker could be asked for {client_id}")
        for address in (await self.masters()).values():
            try:
                answer = await self._instance.call(address, request, timeout=RELAY_SECONDS)
                return body_of(answer, ConsumerRunningInfo)
            except AnswerError as refused:
                problem = refused  # it may be known to another broker
        raise problem

    async def remembered_offsets(
        self, group: str, topic: str, client_id: str = ""
    ) -> dict[str, dict[MessageQueue, int]]:
        """The offsets that members have in memory, by client id; of all, or of one."""
        request = InvokeBrokerToGetConsumerStatus(topic, group, client_id)
        found: dict[str, dict[MessageQueue, int]] = {}
        for address in (await self._topic_masters(topic)).values():
            answer = await self._instance.call(address, request, timeout=RELAY_SECONDS)
            for client, offsets in body_of(answer, ConsumerStatus).consumer_table.items():
                found.setdefault(client, {}).update(offsets)
        return {client: dict(sorted(offsets.items())) for client, offsets in sorted(found.items())}

    async def consume_directly(
        self, group: str, offset_message_id: str, *, client_id: str | None = None
    ) -> DirectResult:
        """Have a member of `group` consume a stored message now; nothing is committed.

        `offset_message_id`: the broker's id (`ReceivedMessage.offset_message_id`); `client_id`: which member,
        by default any. Raises `FixError` when nobody is online, `AnswerError` when the member is not.
        """
        address, _ = parse_offset_id(offset_message_id)
        if client_id is None:
            members = (await self.consumer_connections(group)).connection_set
            if not members:
                raise FixError(f"nobody of consumer group {group} is online to consume a message")
            client_id = members[0].client_id
        request = ConsumeMessageDirectly(group, client_id, offset_message_id)
        return body_of(await self._instance.call(address, request, timeout=RELAY_SECONDS), DirectResult)

    async def broker_statistic(self, address: str, name: str, key: str) -> BrokerStatsData | None:
        """One count of the broker at `address` over a minute, an hour, a day; `None` when there is none.

        `name`: such as TOPIC_PUT_NUMS or GROUP_GET_NUMS; `key`: a topic, or "topic@group".
        """
        try:
            return body_of(
                await self._instance.call(address, ViewBrokerStatsData(name, key)), BrokerStatsData
            )
        except AnswerError as problem:
            if problem.code != ResponseCode.SYSTEM_ERROR:
                raise
            return None

    async def broker_progress(self, address: str, *, ordered_only: bool = False) -> ConsumeStatsList:
        """How far all groups of the broker at `address` are, topic by topic."""
        answer = await self._instance.call(address, GetBrokerConsumeStats(ordered_only))
        return body_of(answer, ConsumeStatsList)

    async def group_readable(self, group: str, topic: str, readable: bool | None = None) -> bool:
        """Whether `group` may read `topic` on all its brokers; set first when `readable` is given."""
        request = UpdateAndGetGroupForbidden(group, topic, readable)
        masters = list((await self._topic_masters(topic)).values())
        answers = await self._call_all(masters, request)
        return all(body_of(answer, GroupForbidden).readable for answer in answers)

    async def message_trace(
        self, message_id: str, *, trace_topic: str = TRACE_TOPIC, max_count: int = 64
    ) -> list[TraceRecord]:
        """What is known of a message's way: who sent and who consumed it, oldest first.

        `message_id`: the sender's id (`SendResult.message_id`). Empty when nobody traced it.
        """
        found: list[TraceRecord] = []
        for carrier in await self.query_messages(trace_topic, message_id, max_count=max_count):
            host = carrier.born_host.rpartition(":")[0]
            records = decode_records(carrier.body.decode("utf-8", "replace"), host)
            found += [record for record in records if record.message_id == message_id]
        return sorted(found, key=lambda record: (record.time_ms, _ORDER[record.kind]))
