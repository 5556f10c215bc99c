"""What brokers have for clients, as commands on their Telemetry streams."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.running_info import ConsumerRunningInfo, DirectOutcome, DirectResult
from mqframe.core.errors import Refusal
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.fields import Request
from mqframe.core.requests.insight import ConsumeMessageDirectly, GetConsumerRunningInfo
from mqframe.core.requests.messages import CheckTransactionState
from mqframe.core.requests.serving import Reply, as_reply
from mqframe.core.wire.frame import Body
from mqframe_grpc.calls.transactions import TransactionCalls
from mqframe_grpc.clients import DoorClient, Handed
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import status
from mqframe_grpc.rules.membership import consume_type, heartbeat_of
from mqframe_grpc.rules.receives import message_of, record_in

_OUTCOMES: Final = {
    m.Code.OK: DirectOutcome.SUCCESS,
    m.Code.FAILED_TO_CONSUME_MESSAGE: DirectOutcome.LATER,
    m.Code.MESSAGE_CORRUPTED: DirectOutcome.RETURN_NULL,
}


class HandedCommands(Handed):
    """Turns requests of brokers to clients into commands. Changed members concern nobody: all pop."""

    def __init__(self, transactions: TransactionCalls) -> None:
        self._transactions = transactions

    def notified(self, client: DoorClient, request: Request, body: Body) -> None:
        """Ask a producer about an open transaction (`Handed`)."""
        if not isinstance(request, CheckTransactionState):
            return
        message = record_in(body)
        name = self._transactions.asked_about(message, request)
        made = message_of(message, m.Resource(name=message.topic), "")
        asked = m.RecoverOrphanedTransactionCommand(message=made, transaction_id=name)
        client.command(
            m.TelemetryCommand(status=status(m.Code.OK), recover_orphaned_transaction_command=asked)
        )

    async def asked(self, client: DoorClient, request: Request, body: Body) -> Reply:
        """What operators want to know of a consumer (`Handed`)."""
        if isinstance(request, GetConsumerRunningInfo):
            return as_reply(await self._running_info(client, request))
        if isinstance(request, ConsumeMessageDirectly):
            return as_reply(await self._consumed(client, record_in(body)))
        raise Refusal(
            ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
            f"client {client.client_id} speaks gRPC, which has nothing like {type(request).__name__}",
        )

    async def _running_info(self, client: DoorClient, request: GetConsumerRunningInfo) -> ConsumerRunningInfo:
        info = ConsumerRunningInfo(
            properties={
                "PROP_CLIENT_VERSION": client.version_text,
                # Apache's `mqadmin consumerStatus` fails without it.
                "PROP_CONSUMER_START_TIMESTAMP": str(client.since_ms),
                "PROP_CONSUME_TYPE": consume_type(m.ClientType.PUSH_CONSUMER),
                "PROP_NAMESERVER_ADDR": "",
            }
        )
        if client.settings is not None:
            info.properties["PROP_CONSUME_TYPE"] = consume_type(client.settings.client_type)
            beat = heartbeat_of(client.client_id, client.settings, 0)
            info.subscription_set = [
                each for data in beat.consumer_data_set for each in data.subscription_data_set
            ]
        if request.jstack_enable:
            answer = await client.ask(
                lambda nonce: m.TelemetryCommand(
                    status=status(m.Code.OK),
                    print_thread_stack_trace_command=m.PrintThreadStackTraceCommand(nonce=nonce),
                )
            )
            info.jstack = answer.thread_stack_trace.thread_stack_trace
        return info

    async def _consumed(self, client: DoorClient, message: ReceivedMessage) -> DirectResult:
        made = message_of(message, m.Resource(name=message.topic), "")
        answer = await client.ask(
            lambda nonce: m.TelemetryCommand(
                status=status(m.Code.OK),
                verify_message_command=m.VerifyMessageCommand(nonce=nonce, message=made),
            )
        )
        outcome = _OUTCOMES.get(answer.status.code, DirectOutcome.THROW_EXCEPTION)  # type: ignore[call-overload]
        return DirectResult(consume_result=outcome, remark=answer.status.message or None)
