"""Requests that a broker passes on to consumers (GET_CONSUMER_RUNNING_INFO, CONSUME_MESSAGE_DIRECTLY, …).

Source: AdminBrokerProcessor.callConsumer, Broker2Client.getConsumeStatus.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from mqframe.core.cluster.client_registry import Member
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.running_info import ConsumerStatus
from mqframe.core.errors import BodyError, CallTimeout, FixError, MqframeError, Refusal
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests.fields import Request
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatusFromClient,
)
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import decode
from mqframe.log import get_logger
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import InvokeBrokerToGetConsumerStatus

log = get_logger("broker")

RELAY_SECONDS: Final = 10.0
"""Longest wait for a member's answer to a request that is handed on."""
STATUS_SECONDS: Final = 5.0
"""Longest wait for a member's offsets."""
STATUS_VERSION_MIN: Final = 28
"""Members of versions before this one (V3_0_7_SNAPSHOT) do not tell their offsets."""
RELAY_VERSION_MIN: Final = 62
"""Members of versions before this one (V3_1_8_SNAPSHOT) answer nothing that is handed on."""


class ClientCallbackProcessor(AdminProcessor):
    """Passes requests of operators on to members of consumer groups, and their answers back."""

    # Offsets of all members

    @serves(InvokeBrokerToGetConsumerStatus)
    async def status(self, fields: InvokeBrokerToGetConsumerStatus, call: Call) -> ConsumerStatus:
        group = self._clients.consumers.get(fields.group)
        if group is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"consumer group {fields.group} has no member here")
        members = list(group.members.values())
        if fields.client_addr:
            members = [member for member in members if member.client_id == fields.client_addr]
        for member in members:
            if member.version < STATUS_VERSION_MIN:
                raise Refusal(
                    ResponseCode.SYSTEM_ERROR,
                    f"member {member.client_id} of version {member.version} does not tell its offsets",
                )
        request = GetConsumerStatusFromClient(fields.topic, fields.group)
        answers = await asyncio.gather(*[self._ask_status(member, request) for member in members])
        table = {
            member.client_id: answer.message_queue_table
            for member, answer in zip(members, answers, strict=True)
            if answer is not None
        }
        return ConsumerStatus(consumer_table=table)

    async def _ask_status(
        self, member: Member[Peer], request: GetConsumerStatusFromClient
    ) -> ConsumerStatus | None:
        """What `member` says; `None` when it says nothing, which must not hide what others say."""
        try:
            answer = await member.channel.invoke(request, timeout=STATUS_SECONDS)
            if answer.code == ResponseCode.SUCCESS and answer.body:
                return decode(memoryview(answer.body), ConsumerStatus)
        except (MqframeError, BodyError) as problem:
            log.warning("member does not tell its offsets", client=member.client_id, reason=str(problem))
        return None

    # One member

    @serves(GetConsumerRunningInfo)
    async def running_info(self, fields: GetConsumerRunningInfo, call: Call) -> Reply:
        return await self._ask(fields.consumer_group, fields.client_id, fields)

    @serves(ConsumeMessageDirectly)
    async def consume_directly(self, fields: ConsumeMessageDirectly, call: Call) -> Reply:
        record = self._record(fields.msg_id)
        topic = self._topics.find(fields.topic) if fields.topic else None
        group = self._groups.find(fields.consumer_group)
        request = msgspec.structs.replace(
            fields,
            broker_name=self._identity.name,
            topic_sys_flag=fields.topic_sys_flag if topic is None else topic.topic_sys_flag,
            group_sys_flag=fields.group_sys_flag if group is None else group.group_sys_flag,
        )
        return await self._ask(fields.consumer_group, fields.client_id, request, record)

    def _record(self, message_id: str | None) -> bytes:
        if not message_id:
            raise Refusal(ResponseCode.SYSTEM_ERROR, "msgId is missing: which message is to be consumed?")
        try:
            _, offset = parse_offset_id(message_id)
        except FixError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, str(problem)) from None
        record = self._store.search.record_at(offset)
        if record is None:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"there is no message at commit-log offset {offset}")
        return record

    async def _ask(self, group: str, client_id: str | None, request: Request, body: bytes = b"") -> Reply:
        found = self._clients.consumers.get(group)
        members = [] if found is None else found.members.values()
        member = next((each for each in members if each.client_id == client_id), None)
        if member is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"member {client_id} of consumer group {group} is not online"
            )
        if member.version < RELAY_VERSION_MIN:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"member {client_id} of version {member.version} is too old for this; upgrade it",
            )
        try:
            answer = await member.channel.invoke(request, body, timeout=RELAY_SECONDS)
        except CallTimeout:
            raise Refusal(
                ResponseCode.CONSUME_MSG_TIMEOUT,
                f"member {client_id} of consumer group {group} did not answer within {RELAY_SECONDS:g} s",
            ) from None
        except MqframeError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"asking member {client_id}: {problem}") from None
        return Reply(answer.code, ext=answer.ext, remark=answer.remark, body=bytes(answer.body))
