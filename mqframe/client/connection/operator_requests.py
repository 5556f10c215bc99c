"""What brokers and operators ask of a client's consumers: 220, 221, 307, 309.

Source: ClientRemotingProcessor.java, MQClientInstance.java.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from mqframe.client.stacks import stacks
from mqframe.core import consumer_info as info
from mqframe.core.broker_info import pushed_offsets
from mqframe.core.codes import ResponseCode
from mqframe.core.consumer_info import ConsumerRunningInfo, ConsumerStatus, DirectResult
from mqframe.core.errors import Refusal
from mqframe.core.loosejson import dumps
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.record import RecordError, decode_record
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatusFromClient,
    ResetConsumerClientOffset,
)
from mqframe.log import get_logger
from mqframe.net.call import Call, Reply
from mqframe.net.client import Client

log = get_logger("client")

VERSION_TEXT = "V5_3_3"
"""The protocol version by name, as operators' tools show it."""


class Inspected(Protocol):
    """A consumer, as operators see it."""

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on from `offsets` in those of the queues that are owned; what is held of them is dropped."""
        ...

    def remembered_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """The offsets in memory."""
        ...

    async def running_info(self) -> ConsumerRunningInfo:
        """What it does at the moment."""
        ...

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Have `message` consumed now, whatever is owned. Raises `Refusal` when that cannot be."""
        ...


class Inspection:
    """Serves the four requests for the consumers of one client.

    `nameservers`: gives the addresses that the client knows.
    """

    def __init__(self, remoting: Client, nameservers: Callable[[], Sequence[str]]) -> None:
        self._nameservers = nameservers
        self._consumers: dict[str, Inspected] = {}
        remoting.serve(ResetConsumerClientOffset.CODE, self._reset)
        remoting.serve(GetConsumerStatusFromClient.CODE, self._status)
        remoting.serve(GetConsumerRunningInfo.CODE, self._running_info)
        remoting.serve(ConsumeMessageDirectly.CODE, self._consume_directly)

    def add(self, group: str, consumer: Inspected) -> None:
        """Ask `consumer` what is asked of `group`."""
        self._consumers[group] = consumer

    def remove(self, group: str) -> None:
        """Nobody consumes for `group` here any more."""
        self._consumers.pop(group, None)

    async def _reset(self, call: Call) -> Reply:
        fields = call.fields(ResetConsumerClientOffset)
        offsets = pushed_offsets(bytes(call.frame.body))
        consumer = self._consumers.get(fields.group)
        if consumer is None:
            log.info("reset of a group that does not consume here", group=fields.group, topic=fields.topic)
        else:
            await consumer.reset_offsets(fields.topic, offsets)
        return Reply()

    def _status(self, call: Call) -> Reply:
        fields = call.fields(GetConsumerStatusFromClient)
        consumer = self._consumers.get(fields.group)
        table = {} if consumer is None else consumer.remembered_offsets(fields.topic)
        return Reply(body=dumps(ConsumerStatus(message_queue_table=table)))

    async def _running_info(self, call: Call) -> Reply:
        fields = call.fields(GetConsumerRunningInfo)
        found = await self._consumer(fields.consumer_group).running_info()
        found.properties |= {
            info.NAMESERVERS: "".join(f"{address};" for address in self._nameservers()),
            info.CLIENT_VERSION: VERSION_TEXT,
        }
        if fields.jstack_enable:
            found.jstack = stacks()
        return Reply(body=dumps(found))

    async def _consume_directly(self, call: Call) -> Reply:
        fields = call.fields(ConsumeMessageDirectly)
        consumer = self._consumer(fields.consumer_group)
        try:
            message = decode_record(bytes(call.frame.body), 0, fields.broker_name or "")
        except RecordError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"the request's body is no message: {problem}") from None
        return Reply(body=dumps(await consumer.consume_directly(message)))

    def _consumer(self, group: str) -> Inspected:
        found = self._consumers.get(group)
        if found is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"consumer group {group} does not consume in this client"
            )
        return found
