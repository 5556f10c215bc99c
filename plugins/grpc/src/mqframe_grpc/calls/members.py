"""Telemetry, heartbeats and farewells: who is a member of what, and what is told to clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from google.protobuf.message import DecodeError

from mqframe.core.clock import Clock
from mqframe.core.cluster.client_bodies import HeartbeatData
from mqframe.core.errors import Refusal
from mqframe_grpc.access import to_be_settled, to_consume
from mqframe_grpc.backend import Backend
from mqframe_grpc.clients import DoorClient, DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, status
from mqframe_grpc.rules.membership import heartbeat_of, member_of
from mqframe_grpc.rules.names import group_name
from mqframe_grpc.transport.call import GrpcCall
from mqframe_grpc.transport.status import GrpcError, GrpcStatus

_CONSUMERS: Final = (m.ClientType.PUSH_CONSUMER, m.ClientType.SIMPLE_CONSUMER, m.ClientType.PULL_CONSUMER)
SettingsFor = Callable[..., m.Settings]


class MemberCalls:
    """Telemetry, Heartbeat, NotifyClientTermination.

    `settle(sent, group)`: the settings that go back to a client, of those that it sent and the configuration
    of its group.
    """

    def __init__(self, backend: Backend, clients: DoorClients, clock: Clock, settle: SettingsFor) -> None:
        self._backend = backend
        self._clients = clients
        self._clock = clock
        self._settle = settle

    async def telemetry(self, call: GrpcCall) -> None:
        """Serve Telemetry: take settings and answers for as long as the client likes."""
        client: DoorClient | None = None
        try:
            client = self._clients.of(call)
            while (command := await call.receive()) is not None:
                await self._take(client, call, command)
        except Rejected as problem:
            if problem.code == m.Code.UNAUTHORIZED:
                # As Apache's proxy tells it: it ends the stream in good order.
                await call.send(m.TelemetryCommand(status=status(problem.code, problem.text)))
                return
            raise GrpcError(GrpcStatus.INVALID_ARGUMENT, problem.text) from None
        except DecodeError as problem:
            raise GrpcError(GrpcStatus.INVALID_ARGUMENT, f"a command cannot be read: {problem}") from None
        finally:
            if client is not None and call in client.streams:
                client.streams.remove(call)
            client = None  # the traceback of a call that was given up would keep it

    async def _take(self, client: DoorClient, call: GrpcCall, command: m.TelemetryCommand) -> None:
        kind = command.WhichOneof("command")
        if kind == "settings":
            if self._clients.gate.user_of(call, goes_on=True) != client.user:
                raise Rejected(m.Code.UNAUTHORIZED, "the stream is of another user by now; open one anew")
            sent = command.settings
            group = None
            if sent.WhichOneof("pub_sub") == "subscription":
                group = await self._backend.group(sent.subscription.group.name)
            settings = self._settle(sent, group)
            self._clients.gate.check(client, *to_be_settled(settings))
            client.settings = settings
            if call not in client.streams:
                client.streams.append(call)
            now_ms = self._clock.now_ms()
            client.since_ms = client.since_ms or now_ms
            await self._beat(client, heartbeat_of(client.client_id, settings, now_ms))
            await call.send(m.TelemetryCommand(status=status(m.Code.OK), settings=settings))
        elif kind == "thread_stack_trace":
            client.answered(command.thread_stack_trace.nonce, command)
        elif kind == "verify_message_result":
            client.answered(command.verify_message_result.nonce, command)

    async def heartbeat(self, call: GrpcCall, request: m.HeartbeatRequest) -> m.HeartbeatResponse:
        """Serve Heartbeat.

        A client whose settings are not known, for they were told before the door started again, is kept a
        member of the group that it names: Apache's proxy turns it away until it tells them anew.
        """
        client = self._clients.of(call)
        if client.settings is not None:
            # Brokers ask nothing of members of producer groups, but hand them messages of open transactions.
            self._clients.gate.check(client, *to_be_settled(client.settings))
            await self._beat(client, heartbeat_of(client.client_id, client.settings, self._clock.now_ms()))
        elif request.client_type in _CONSUMERS:
            beat = member_of(client.client_id, group_name(request.group), request.client_type)
            await self._beat(client, beat)
        elif request.client_type != m.ClientType.PRODUCER:
            raise Rejected(
                m.Code.UNRECOGNIZED_CLIENT_TYPE,
                "cannot find client settings for this client: they are told by Telemetry",
            )
        return m.HeartbeatResponse(status=status(m.Code.OK))

    async def _beat(self, client: DoorClient, beat: HeartbeatData) -> None:
        try:
            await self._backend.join(client, beat)
        except Refusal as refusal:
            raise Rejected(m.Code.TOO_MANY_REQUESTS, str(refusal)) from None

    async def terminate(
        self, call: GrpcCall, request: m.NotifyClientTerminationRequest
    ) -> m.NotifyClientTerminationResponse:
        """Serve NotifyClientTermination: the client leaves its groups."""
        client = self._clients.of(call)
        if request.group.name:
            self._clients.gate.check(client, *to_consume(group_name(request.group)))
        if client.settings is None:
            raise Rejected(m.Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")
        self._clients.forget(client)
        return m.NotifyClientTerminationResponse(status=status(m.Code.OK))
