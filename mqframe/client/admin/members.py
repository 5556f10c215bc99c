"""Administration of members: what they do and hold; statistics of brokers, traces of messages."""

from __future__ import annotations

from typing import Final

from mqframe.client.admin.calls import body_of, unless
from mqframe.client.admin.groups import GroupAdmin
from mqframe.client.admin.messages import MessageAdmin
from mqframe.core.cluster.broker_info import BrokerStatsData, ConsumeStatsList, GroupForbidden
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.running_info import ConsumerRunningInfo, ConsumerStatus, DirectResult
from mqframe.core.errors import AnswerError, FixError, MqframeError
from mqframe.core.measuring.trace import TraceKind, TraceRecord, decode_records
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetBrokerConsumeStats,
    GetConsumerRunningInfo,
    InvokeBrokerToGetConsumerStatus,
    UpdateAndGetGroupForbidden,
    ViewBrokerStatsData,
)

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
                return await self._ask(address, request, ConsumerRunningInfo, RELAY_SECONDS)
            except AnswerError as refused:
                problem = refused  # it may be known to another broker
        raise problem

    async def remembered_offsets(
        self, group: str, topic: str, client_id: str = ""
    ) -> dict[str, dict[MessageQueue, int]]:
        """The offsets that members have in memory, by client id; of all, or of one."""
        request = InvokeBrokerToGetConsumerStatus(topic, group, client_id)
        found: dict[str, dict[MessageQueue, int]] = {}
        for each in (await self._ask_topic(topic, request, ConsumerStatus, RELAY_SECONDS)).values():
            for client, offsets in each.consumer_table.items():
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
        return await self._ask(address, request, DirectResult, RELAY_SECONDS)

    async def broker_statistic(self, address: str, name: str, key: str) -> BrokerStatsData | None:
        """One count of the broker at `address` over a minute, an hour, a day; `None` when there is none.

        `name`: such as TOPIC_PUT_NUMS or GROUP_GET_NUMS; `key`: a topic, or "topic@group".
        """
        asked = self._call(address, ViewBrokerStatsData(name, key))
        answer = await unless((ResponseCode.SYSTEM_ERROR,), asked)
        return None if answer is None else body_of(answer, BrokerStatsData)

    async def broker_progress(self, address: str, *, ordered_only: bool = False) -> ConsumeStatsList:
        """How far all groups of the broker at `address` are, topic by topic."""
        return await self._ask(address, GetBrokerConsumeStats(ordered_only), ConsumeStatsList)

    async def group_readable(self, group: str, topic: str, readable: bool | None = None) -> bool:
        """Whether `group` may read `topic` on all its brokers; set first when `readable` is given."""
        request = UpdateAndGetGroupForbidden(group, topic, readable)
        answers = await self._ask_topic(topic, request, GroupForbidden)
        return all(each.readable for each in answers.values())

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
