"""Transactions: their ends, and asking producers about those that stay open."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import MqframeError
from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC
from mqframe.core.requests.messages import (
    CheckTransactionState,
    EndTransaction,
    QueryMessage,
    SendAnswer,
)
from mqframe.core.storage.record import decode_records
from mqframe_grpc.access import to_publish
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.answers import need
from mqframe_grpc.clients import DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, status
from mqframe_grpc.rules.halves import HalfPlace, OpenHalves
from mqframe_grpc.rules.names import topic_name
from mqframe_grpc.transport.call import GrpcCall

_OUTCOMES: Final = {m.TransactionResolution.COMMIT: 8, m.TransactionResolution.ROLLBACK: 12}
_LEFT_OPEN: Final = 0
_SEARCHED_MAX: Final = 32
_FOREVER_MS: Final = (1 << 63) - 1


class TransactionCalls:
    """EndTransaction. `halves`: where half messages lie that were heard of."""

    def __init__(self, backend: Backend, clients: DoorClients) -> None:
        self._backend = backend
        self._clients = clients
        self.halves = OpenHalves()

    def half_stored(self, topic: str, transaction_id: str, broker: str, answer: SendAnswer) -> None:
        """A half message was sent, and stored at `broker` where `answer` says."""
        _, log_offset = parse_offset_id(answer.msg_id)
        self.halves.stored(topic, transaction_id, HalfPlace(broker, answer.queue_offset, log_offset))

    def asked_about(self, message: ReceivedMessage, fields: CheckTransactionState) -> str:
        """A producer of `message` is asked about its transaction; returns the transaction's id."""
        name = fields.transaction_id or message.message_id
        place = HalfPlace(
            self._backend.broker_of(fields.bname or ""),
            fields.tran_state_table_offset,
            fields.commit_log_offset,
        )
        self.halves.stored(message.topic, name, place)
        return name

    async def end(self, call: GrpcCall, request: m.EndTransactionRequest) -> m.EndTransactionResponse:
        """Serve EndTransaction. It is answered when the broker has done it."""
        client = self._clients.of(call)
        topic, name = topic_name(request.topic), request.transaction_id
        if not name.strip():
            raise Rejected(m.Code.INVALID_TRANSACTION_ID, "the transaction id is missing: which one ends?")
        self._clients.gate.check(client, to_publish(topic))
        place = self.halves.find(topic, name) or await self._search(topic, name)
        reply = await self._backend.ask(
            client,
            place.broker,
            EndTransaction(
                producer_group=topic,
                tran_state_table_offset=place.queue_offset,
                commit_log_offset=place.log_offset,
                commit_or_rollback=_OUTCOMES.get(request.resolution, _LEFT_OPEN),  # type: ignore[call-overload]
                msg_id=request.message_id,
                topic=topic,
                from_transaction_check=request.source == m.TransactionSource.SOURCE_SERVER_CHECK,
                transaction_id=name,
            ),
        )
        if reply.code == ResponseCode.ILLEGAL_OPERATION:
            self.halves.ended(topic, name)
            raise Rejected(m.Code.INVALID_TRANSACTION_ID, reply.remark or f"transaction {name} has ended")
        need(reply)
        if request.resolution in _OUTCOMES:
            self.halves.ended(topic, name)
        return m.EndTransactionResponse(status=status(m.Code.OK))

    async def _search(self, topic: str, name: str) -> HalfPlace:
        """Find a half message that the door has not heard of, for it is older than its process.

        The door looks for itself: users may not read half messages. Who may end it, the broker decides.
        """
        own = self._clients.own()
        away: MqframeError | None = None
        for broker in self._backend.brokers:
            search = QueryMessage(
                topic=HALF_TOPIC,
                key=name,
                max_num=_SEARCHED_MAX,
                begin_timestamp=0,
                end_timestamp=_FOREVER_MS,
                unique_key="true",
            )
            try:
                reply = await self._backend.ask(own, broker, search)
            except MqframeError as problem:
                away = problem
                continue
            if reply.code:
                continue
            body = reply.joined_body()
            found = [each for each in decode_records(body, broker) if each.message_id == name]
            if found:
                newest = max(found, key=lambda each: each.queue_offset)
                return HalfPlace(broker, newest.queue_offset, newest.commit_log_offset)
        if away is not None:
            raise away  # it may be there
        raise Rejected(
            m.Code.INVALID_TRANSACTION_ID,
            f"there is no open transaction {name[:200]} of topic {topic}: it has ended, or never began",
        )
