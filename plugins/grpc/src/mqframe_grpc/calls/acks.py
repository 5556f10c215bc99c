"""What clients say of messages that they were handed: done, not yet, never."""

from __future__ import annotations

from functools import partial
from typing import Final

from mqframe_grpc.calls.answers import status_of
from mqframe_grpc.calls.ordinary_acks import OrdinaryAck
from mqframe_grpc.calls.renewing import Renewing
from mqframe_grpc.clients import DoorClient, DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.acks import AllDone, all_done
from mqframe_grpc.rules.codes import overall, status
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_grpc.rules.names import group_name, legal_group, legal_topic, topic_name
from mqframe_grpc.rules.receives import ReceiveLimits, changed_ms
from mqframe_grpc.transport.call import GrpcCall

_DONE: Final = status(m.Code.OK)


class AckCalls:
    """AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue."""

    def __init__(self, clients: DoorClients, limits: ReceiveLimits, renewing: Renewing) -> None:
        self._clients = clients
        self._limits = limits
        self._deliveries = renewing.deliveries
        self._renewing = renewing

    async def acknowledge(
        self, call: GrpcCall, request: m.AckMessageRequest | OrdinaryAck
    ) -> m.AckMessageResponse | AllDone:
        """Serve AckMessage: a result for each entry, in their order."""
        client = self._clients.of(call)
        results: list[tuple[str, str, m.Status]] = []
        if isinstance(request, OrdinaryAck):
            topic, group = legal_topic(request.topic), legal_group(request.group)
            found = await self._acknowledge(call, client, group, topic, request.message_id, request.handle)
            if found is _DONE:
                return request.done
            results.append((request.message_id, request.text, found))
        else:
            topic, group = topic_name(request.topic), group_name(request.group)
            for entry in request.entries:
                message_id, text = entry.message_id, entry.receipt_handle
                found = await self._acknowledge(call, client, group, topic, message_id, text)
                results.append((message_id, text, found))
        if results and all(found is _DONE for _, _, found in results):
            return all_done([(message_id, text) for message_id, text, _ in results])
        entries = [
            m.AckMessageResultEntry(message_id=message_id, receipt_handle=text, status=found)
            for message_id, text, found in results
        ]
        codes = [m.Code(found.code) for _, _, found in results]
        return m.AckMessageResponse(status=overall(codes), entries=entries)

    async def _acknowledge(
        self,
        call: GrpcCall,
        client: DoorClient,
        group: str,
        topic: str,
        message_id: str,
        given: DoorHandle | str,
    ) -> m.Status:
        """How it went for the message of the handle `given`, which may be its text still."""
        renewing, deliveries = self._renewing, self._deliveries
        try:
            handle = DoorHandle.parse(given) if isinstance(given, str) else given
            if renewing.renewals.has(client.name, group):
                use = partial(deliveries.acknowledge, client, group, topic)
                await renewing.use_newest(client, group, topic, message_id, handle, use)
            else:  # as for all simple consumers
                await deliveries.acknowledge(client, group, topic, handle)
        except Exception as problem:  # isolation boundary: of this entry
            return status_of(problem, call)
        return _DONE

    async def change(
        self, call: GrpcCall, request: m.ChangeInvisibleDurationRequest
    ) -> m.ChangeInvisibleDurationResponse:
        """Serve ChangeInvisibleDuration; the message has another handle then."""
        client = self._clients.of(call)
        topic, group = topic_name(request.topic), group_name(request.group)
        duration_ms = changed_ms(request, self._limits)
        given = DoorHandle.parse(request.receipt_handle)

        async def use(handle: DoorHandle) -> DoorHandle:
            return await self._deliveries.hide(client, group, topic, handle, duration_ms)

        changed: DoorHandle = await self._renewing.use_newest(
            client, group, topic, request.message_id, given, use
        )
        return m.ChangeInvisibleDurationResponse(status=status(m.Code.OK), receipt_handle=changed.text)

    async def bury(
        self, call: GrpcCall, request: m.ForwardMessageToDeadLetterQueueRequest
    ) -> m.ForwardMessageToDeadLetterQueueResponse:
        """Serve ForwardMessageToDeadLetterQueue."""
        client = self._clients.of(call)
        topic, group = topic_name(request.topic), group_name(request.group)
        given = DoorHandle.parse(request.receipt_handle)

        async def use(handle: DoorHandle) -> None:
            await self._deliveries.bury(client, group, topic, handle, request.message_id)
            await self._deliveries.acknowledge(client, group, topic, handle)

        await self._renewing.use_newest(client, group, topic, request.message_id, given, use)
        return m.ForwardMessageToDeadLetterQueueResponse(status=status(m.Code.OK))
