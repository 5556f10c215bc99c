"""Administration of members of groups: who is online, what they do and hold."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.running_info import ConsumerRunningInfo, ConsumerStatus, DirectResult
from mqframe.core.errors import AnswerError, FixError, MqframeError
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.fields import Request
from mqframe.core.requests.insight import ConsumeMessageDirectly, GetConsumerRunningInfo
from mqframe.core.wire.frame import Frame
from mqframe_admin.bodies import ConsumerConnection, ProducerConnection
from mqframe_admin.client.calls import AdminCalls, body_of, unless
from mqframe_admin.requests import (
    GetConsumerConnectionList,
    GetProducerConnectionList,
    InvokeBrokerToGetConsumerStatus,
)

_NOBODY = (
    ResponseCode.CONSUMER_NOT_ONLINE,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
    ResponseCode.SYSTEM_ERROR,
)
RELAY_SECONDS: Final = 12.0
"""Brokers wait 10 s for a member."""


class AsyncMemberAdmin:
    """Members of groups, those that are online."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def consumers(self, group: str) -> ConsumerConnection:
        """Members of a consumer group and their subscriptions; no members when nobody is online."""
        answer = await self._first_online(GetConsumerConnectionList(group))
        return ConsumerConnection() if answer is None else body_of(answer, ConsumerConnection)

    async def producers(self, group: str) -> ProducerConnection:
        """Members of a producer group; none when nobody is online."""
        answer = await self._first_online(GetProducerConnectionList(group))
        return ProducerConnection() if answer is None else body_of(answer, ProducerConnection)

    async def running_info(self, group: str, client_id: str, *, stacks: bool = False) -> ConsumerRunningInfo:
        """What one member holds, counts and is set to; with `stacks` also what its threads do.

        Raises `AnswerError` when it is not online or does not answer.
        """
        request = GetConsumerRunningInfo(group, client_id, stacks)
        problem: MqframeError = FixError(f"no broker could be asked for {client_id}")
        for address in (await self._calls.masters()).values():
            try:
                return await self._calls.ask(address, request, ConsumerRunningInfo, RELAY_SECONDS)
            except AnswerError as refused:
                problem = refused  # it may be known to another broker
        raise problem

    async def remembered_offsets(
        self, group: str, topic: str, client_id: str = ""
    ) -> dict[str, dict[MessageQueue, int]]:
        """The offsets that members have in memory, by client id; of all, or of one."""
        request = InvokeBrokerToGetConsumerStatus(topic, group, client_id)
        found: dict[str, dict[MessageQueue, int]] = {}
        for each in (await self._calls.ask_topic(topic, request, ConsumerStatus, RELAY_SECONDS)).values():
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
            members = (await self.consumers(group)).connection_set
            if not members:
                raise FixError(f"nobody of consumer group {group} is online to consume a message")
            client_id = members[0].client_id
        request = ConsumeMessageDirectly(group, client_id, offset_message_id)
        return await self._calls.ask(address, request, DirectResult, RELAY_SECONDS)

    async def _first_online(self, request: Request) -> Frame | None:
        """The answer of the first master that has members online; `None` when none has."""
        for address in (await self._calls.masters()).values():
            answer = await unless(_NOBODY, self._calls.call(address, request))
            if answer is not None:
                return answer
        return None
