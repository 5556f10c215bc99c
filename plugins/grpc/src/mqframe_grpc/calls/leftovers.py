"""What was popped for a client and is not handed to it: none of it stays hidden, whatever ends its call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import attrs
from mqframe_pop.rules.receipt_handle import ReceiptHandle

from mqframe.core.errors import MqframeError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import POP_CHECK_POINT
from mqframe.log import get_logger
from mqframe_grpc.calls.renewing import Renewing
from mqframe_grpc.clients import DoorClient
from mqframe_grpc.rules.handles import DoorHandle

log = get_logger("grpc")


@attrs.define
class Rest:
    """Messages of a pop that its client does not get.

    `done`: they are none of its business, as those of another tag; `dead`: with their ids, they become dead
    letters of the group; `later`: come again after so many ms.
    """

    done: list[DoorHandle] = attrs.Factory(list)
    dead: list[tuple[DoorHandle, str]] = attrs.Factory(list)
    later: list[tuple[DoorHandle, int]] = attrs.Factory(list)

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.done or self.dead or self.later)


class Leftovers:
    """Tells brokers what becomes of them, in the name of the door: the client may be gone."""

    def __init__(self, renewing: Renewing) -> None:
        self._renewing = renewing
        self._deliveries = renewing.deliveries

    async def put_away(self, group: str, topic: str, rest: Rest) -> None:
        """Return when it is done. Cancelled, it goes on."""
        await asyncio.shield(self._renewing.later(self._put_away(group, topic, rest)))

    async def _put_away(self, group: str, topic: str, rest: Rest) -> None:
        for handle in rest.done:
            await self._acknowledge(group, topic, handle)
        for handle, message_id in rest.dead:
            await self._bury(group, topic, handle, message_id)
        for handle, duration_ms in rest.later:
            await self._renewing.let_others(group, topic, handle, duration_ms)

    async def _acknowledge(self, group: str, topic: str, handle: DoorHandle) -> None:
        try:
            await self._deliveries.acknowledge(self._renewing.own, group, topic, handle)
        except MqframeError as problem:
            log.debug("message comes again", topic=topic, handle=handle.text, reason=str(problem))

    async def _bury(self, group: str, topic: str, handle: DoorHandle, message_id: str) -> None:
        try:
            await self._deliveries.bury(self._renewing.own, group, topic, handle, message_id)
        except MqframeError as problem:
            # It comes again, and is buried then.
            log.warning("no dead letter yet", topic=topic, group=group, problem=str(problem))
        else:
            await self._acknowledge(group, topic, handle)

    def give_back(
        self, client: DoorClient, group: str, topic: str, popped: Iterable[tuple[str, DoorHandle]]
    ) -> None:
        """The client has gone before it got these, by their ids: others get them soon."""
        for message_id, handle in popped:
            self._renewing.later(self._renewing.give_back_one(client, group, topic, message_id, handle))


def handle_of(message: ReceivedMessage) -> DoorHandle:
    """The handle of a message that was popped."""
    return DoorHandle(ReceiptHandle.parse(message.properties[POP_CHECK_POINT]), message.commit_log_offset)
