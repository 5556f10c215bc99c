"""The door: all calls of gRPC clients, before a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import SettingError
from mqframe.net.clock import LoopClock
from mqframe_grpc.access import AgeLimit, Gate, Judge, ask_nobody
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.acks import AckCalls
from mqframe_grpc.calls.answers import Serve, answering
from mqframe_grpc.calls.deliveries import Deliveries
from mqframe_grpc.calls.handed import HandedCommands
from mqframe_grpc.calls.members import MemberCalls
from mqframe_grpc.calls.ordinary_acks import AckRequests, ReadsAcks
from mqframe_grpc.calls.ordinary_sends import ReadsSends, SendRequests
from mqframe_grpc.calls.queues import QueueCalls
from mqframe_grpc.calls.receives import ReceiveCalls
from mqframe_grpc.calls.renewing import Renewing
from mqframe_grpc.calls.routes import RouteCalls
from mqframe_grpc.calls.sends import SendCalls
from mqframe_grpc.calls.transactions import TransactionCalls
from mqframe_grpc.calls.translated import Translates, Translation
from mqframe_grpc.clients import DoorClients
from mqframe_grpc.latencies import RpcLatencies
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.renewal import Renewals
from mqframe_grpc.rules.routes import endpoints_of
from mqframe_grpc.rules.settings import settings_for
from mqframe_grpc.transport.call import Asked, GrpcCall, Method

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"


class Door:
    """Serves gRPC's calls by asking `backend`.

    `judge`: says who calls, and whether they may. `in_work`: how many calls are being served, but for those
    that wait for messages; `latencies`: how long all of them took. Raises `SettingError` for options that
    cannot be.
    """

    def __init__(
        self, backend: Backend, clock: LoopClock, options: GrpcOptions, judge: Judge = ask_nobody
    ) -> None:
        clients = DoorClients(Gate(judge, AgeLimit(clock, options.signature_age_ms)))
        transactions = TransactionCalls(backend, clients)
        self.clients = clients
        self.in_work = 0
        self.latencies = RpcLatencies()
        self._clock = clock
        clients.handed = HandedCommands(transactions)
        self._transactions = transactions
        self._options = options
        deliveries = Deliveries(backend, clock)
        renewals = Renewals(options.renew_ms, max_ms=options.renew_max_ms)
        self.renewing = Renewing(renewals, deliveries, backend, clock, clients.own())
        clients.left = self.renewing.give_back
        self._routes = RouteCalls(backend, clients, _advertised(options.advertised))
        self._members = MemberCalls(backend, clients, clock, self._settings)
        self._sends = SendCalls(backend, clients, clock, options.sends, transactions.half_stored)
        self._sends.check_types = options.check_types
        self._send_requests: Asked = m.SendMessageRequest
        self._receives = ReceiveCalls(backend, clients, clock, options.receives, self.renewing)
        self._queues = QueueCalls(backend, clients, clock, options.receives, self._receives.held)
        self._acks = AckCalls(clients, options.receives, self.renewing)
        self._ack_requests: Asked = m.AckMessageRequest

    def _settings(self, sent: m.Settings, group: SubscriptionGroupConfig | None) -> m.Settings:
        options = self._options
        return settings_for(
            sent,
            group,
            options.sends,
            options.batch_max,
            options.polling_max_ms,
            check_types=options.check_types,
            invisible_max_ms=options.invisible_max_ms,
        )

    def methods(self) -> Mapping[str, Method]:
        """What serves each RPC, by its path."""
        one: dict[str, tuple[Serve, type[m.ProtoMessage]]] = {
            "QueryRoute": (self._routes.query_route, m.QueryRouteResponse),
            "QueryAssignment": (self._routes.query_assignment, m.QueryAssignmentResponse),
            "SendMessage": (self._sends.send, m.SendMessageResponse),
            "RecallMessage": (self._sends.recall, m.RecallMessageResponse),
            "AckMessage": (self._acks.acknowledge, m.AckMessageResponse),
            "ChangeInvisibleDuration": (self._acks.change, m.ChangeInvisibleDurationResponse),
            "ForwardMessageToDeadLetterQueue": (
                self._acks.bury,
                m.ForwardMessageToDeadLetterQueueResponse,
            ),
            "UpdateOffset": (self._queues.update, m.UpdateOffsetResponse),
            "GetOffset": (self._queues.committed, m.GetOffsetResponse),
            "QueryOffset": (self._queues.offset, m.QueryOffsetResponse),
            "EndTransaction": (self._transactions.end, m.EndTransactionResponse),
            "Heartbeat": (self._members.heartbeat, m.HeartbeatResponse),
            "NotifyClientTermination": (self._members.terminate, m.NotifyClientTerminationResponse),
        }
        found = {
            SERVICE + name: Method(
                self._counted(name, answering(answer, serve)), m.METHODS[SERVICE + name][0]
            )
            for name, (serve, answer) in one.items()
        }
        for name, serve in (("ReceiveMessage", self._receives.receive), ("PullMessage", self._queues.pull)):
            found[SERVICE + name] = Method(self._timed(name, serve), m.METHODS[SERVICE + name][0])
        for name, asked in (("SendMessage", self._send_requests), ("AckMessage", self._ack_requests)):
            found[SERVICE + name] = found[SERVICE + name]._replace(asked=asked)
        found[f"{SERVICE}Telemetry"] = Method(self._members.telemetry, m.TelemetryCommand, both_ways=True)
        return found

    def _counted(self, rpc: str, serve: Serve) -> Serve:
        now, latency = self._clock.monotonic, self.latencies.of(rpc)

        async def counted(call: GrpcCall, request: Any) -> Any:
            self.in_work += 1
            began = now()
            try:
                answer = await serve(call, request)
            finally:
                self.in_work -= 1
            latency.add(answer.status.code, now() - began)
            return answer

        return counted

    def _timed(self, rpc: str, serve: Serve) -> Serve:
        """`serve`, which sends its answers itself, a status first, and waits for messages."""
        now, latency = self._clock.monotonic, self.latencies.of(rpc, polls=True)

        async def timed(call: GrpcCall, request: Any) -> None:
            began = now()
            await serve(call, request)
            latency.add(call.first.status.code, now() - began)

        return timed

    def translate_by(self, compiled: Callable[..., Translates]) -> None:
        """Have ordinary messages that are received translated by the class `compiled`."""
        self._receives.translation = Translation(compiled)

    def read_sends_by(self, compiled: Callable[..., ReadsSends]) -> None:
        """Have ordinary sends read by the class `compiled`. Before `methods` are asked for."""
        self._send_requests = SendRequests(compiled, self._options.sends)

    def read_acks_by(self, compiled: Callable[[bytes], ReadsAcks]) -> None:
        """Have ordinary acknowledgements read by the class `compiled`. Before `methods` are asked for."""
        self._ack_requests = AckRequests(compiled)

    async def renew(self) -> None:
        """Hide anew what is in work."""
        await self.renewing.renew()

    def leave(self) -> None:
        """The door stops soon: send clients elsewhere, and answer those that wait for messages."""
        if not self._receives.held.ended:
            self.clients.send_away()
            self._receives.held.end()

    def stop(self) -> None:
        """Do nothing any more; what still waits for messages is answered in the next turns of the loop."""
        self._receives.held.close()
        self.renewing.stop()


def _advertised(text: str) -> m.Endpoints | None:
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise SettingError(f"plugins.grpc.advertised = {text!r}: must be host:port")
    return endpoints_of(host.strip("[]"), int(port))
