"""Requests of brokers and operators about a client's consumers: resets, offsets, running info, direct use.

Source: ClientRemotingProcessor.java, MQClientInstance.java.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Final, Protocol

from mqframe.core.cluster.broker_info import pushed_offsets
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming import running_info as info
from mqframe.core.consuming.running_info import ConsumerRunningInfo, ConsumerStatus, DirectResult
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.requests.insight import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatusFromClient,
    ResetConsumerClientOffset,
)
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.storage.record import RecordError, decode_record
from mqframe.log import get_logger

log = get_logger("client")

VERSION_TEXT = "V5_3_3"
"""The protocol version by name, as operators' tools show it."""

STACKS_CHARACTERS_MAX: Final = 1 << 20
"""Longest text of stacks that goes over the wire."""
_TASKS_MAX: Final = 256


class InspectableConsumer(Protocol):
    """The part of a consumer that operators can ask and move."""

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on from `offsets` in those of the queues that are owned; what is held of them is dropped."""

    def remembered_offsets(self, topic: str) -> dict[MessageQueue, int]:
        """The offsets in memory."""

    async def running_info(self) -> ConsumerRunningInfo:
        """What it does at the moment."""

    async def consume_directly(self, message: ReceivedMessage) -> DirectResult:
        """Have `message` consumed now, whatever is owned. Raises `Refusal` when that cannot be."""


class OperatorRequests:
    """Serves the four requests for the consumers of one client.

    `nameservers`: returns the addresses that the client knows.
    """

    def __init__(self, nameservers: Callable[[], Sequence[str]]) -> None:
        self._nameservers = nameservers
        self._consumers: dict[str, InspectableConsumer] = {}

    def add(self, group: str, consumer: InspectableConsumer) -> None:
        """Ask `consumer` what is asked of `group`."""
        self._consumers[group] = consumer

    def remove(self, group: str) -> None:
        """Nobody consumes for `group` here any more."""
        self._consumers.pop(group, None)

    @serves(ResetConsumerClientOffset)
    async def reset(self, fields: ResetConsumerClientOffset, call: Call) -> Reply:
        offsets = pushed_offsets(bytes(call.frame.body))
        consumer = self._consumers.get(fields.group)
        if consumer is None:
            log.info("reset of a group that does not consume here", group=fields.group, topic=fields.topic)
        else:
            await consumer.reset_offsets(fields.topic, offsets)
        return Reply()

    @serves(GetConsumerStatusFromClient)
    def status(self, fields: GetConsumerStatusFromClient, call: Call) -> ConsumerStatus:
        consumer = self._consumers.get(fields.group)
        table = {} if consumer is None else consumer.remembered_offsets(fields.topic)
        return ConsumerStatus(message_queue_table=table)

    @serves(GetConsumerRunningInfo)
    async def running_info(self, fields: GetConsumerRunningInfo, call: Call) -> ConsumerRunningInfo:
        found = await self._consumer(fields.consumer_group).running_info()
        found.properties |= {
            info.NAMESERVERS: "".join(f"{address};" for address in self._nameservers()),
            info.CLIENT_VERSION: VERSION_TEXT,
        }
        if fields.jstack_enable:
            found.jstack = stacks()
        return found

    @serves(ConsumeMessageDirectly)
    async def consume_directly(self, fields: ConsumeMessageDirectly, call: Call) -> DirectResult:
        consumer = self._consumer(fields.consumer_group)
        try:
            message = decode_record(bytes(call.frame.body), 0, fields.broker_name or "")
        except RecordError as problem:
            raise Refusal(ResponseCode.SYSTEM_ERROR, f"the request's body is no message: {problem}") from None
        return await consumer.consume_directly(message)

    def _consumer(self, group: str) -> InspectableConsumer:
        found = self._consumers.get(group)
        if found is None:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR, f"consumer group {group} does not consume in this client"
            )
        return found


def stacks() -> str:
    """One paragraph a thread and a task of the running loop, innermost frame first (UtilAll.jstack)."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        _paragraph(names.get(number, "unknown"), f"TID: {number} STATE: RUNNABLE", _frames(frame))
        for number, frame in sys._current_frames().items()  # the documented way to other threads' frames
    ]
    for task in list(asyncio.all_tasks())[:_TASKS_MAX]:
        frames = [line for frame in reversed(task.get_stack()) for line in _frames(frame, deep=False)]
        parts.append(_paragraph(task.get_name(), "TASK STATE: WAITING", frames))
    return "\n".join(parts)[:STACKS_CHARACTERS_MAX]


def _frames(frame: FrameType, *, deep: bool = True) -> list[str]:
    found = traceback.StackSummary.extract(
        traceback.walk_stack(frame) if deep else [(frame, frame.f_lineno)], lookup_lines=False
    )
    return [f"{each.name}({each.filename}:{each.lineno})" for each in found]


def _paragraph(name: str, state: str, frames: list[str]) -> str:
    return "".join(f"{name:<40}{line}\n" for line in [state, *frames])
