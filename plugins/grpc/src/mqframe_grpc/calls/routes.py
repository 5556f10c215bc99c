"""Where topics are, and what a member of a group receives from."""

from __future__ import annotations

from typing import Final

from mqframe_grpc.access import to_consume, to_look_at
from mqframe_grpc.backend import Backend
from mqframe_grpc.clients import DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, status
from mqframe_grpc.rules.names import group_name, topic_name
from mqframe_grpc.rules.routes import accepted_types, assignments, message_queues
from mqframe_grpc.transport.call import GrpcCall

MESSAGE_TYPE: Final = "message.type"


class RouteCalls:
    """QueryRoute and QueryAssignment. `advertised`: the addresses of the door, for all clients; `None`: those
    by which a client found it."""

    def __init__(self, backend: Backend, clients: DoorClients, advertised: m.Endpoints | None) -> None:
        self._backend = backend
        self._clients = clients
        self._advertised = advertised

    async def query_route(self, call: GrpcCall, request: m.QueryRouteRequest) -> m.QueryRouteResponse:
        """Serve QueryRoute."""
        client = self._clients.of(call)
        topic = topic_name(request.topic)
        self._clients.gate.check(client, to_look_at(topic))
        route = await self._backend.route(client, topic)
        try:
            config = await self._backend.topic(topic)
            types = accepted_types(config.attributes.get(MESSAGE_TYPE))
        except Rejected:
            types = accepted_types(None)  # it is at other brokers alone
        endpoints = self._advertised or request.endpoints
        queues = message_queues(request.topic, route, endpoints, types)
        return m.QueryRouteResponse(status=status(m.Code.OK), message_queues=queues)

    async def query_assignment(
        self, call: GrpcCall, request: m.QueryAssignmentRequest
    ) -> m.QueryAssignmentResponse:
        """Serve QueryAssignment."""
        client = self._clients.of(call)
        topic, group = topic_name(request.topic), group_name(request.group)
        self._clients.gate.check(client, *to_consume(group, topic))
        route = await self._backend.route(client, topic)
        config = await self._backend.group(group)
        ordered = config is not None and config.consume_message_orderly
        found = assignments(request.topic, route, self._advertised or request.endpoints, ordered)
        if not found:
            raise Rejected(m.Code.FORBIDDEN, f"no readable queue: topic {topic} gives no messages")
        return m.QueryAssignmentResponse(status=status(m.Code.OK), assignments=found)
