"""A door before a cluster in this process, called without sockets and without HTTP/2.

    async with DoorScene(topics={"orders": 4}) as scene:
        [sent] = await scene.call("SendMessage", m.SendMessageRequest(messages=[message("orders", b"o-1")]))
        assert sent.status.code == m.Code.OK
        told = await scene.receive("orders", "billing")            # answers of the stream, in order
        stream = await scene.join("c@1", consumer_settings("billing", "orders"))     # Telemetry
        stream.tell(m.TelemetryCommand(…)); await scene.until(lambda: stream.commands); stream.close()
        held = scene.begin("ReceiveMessage", …); await scene.pass_time(1.0); held.cancel()

Time is that of a `ManualClock`, moved by `call` while it waits, and by what `ClusterScene` has for that.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_grpc.access import Judge, ask_nobody
from mqframe_grpc.backend import Backend
from mqframe_grpc.door import SERVICE, Door
from mqframe_grpc.inside import InsideBackend
from mqframe_grpc.options import GrpcOptions
from mqframe_grpc.outside.backend import OutsideBackend
from mqframe_grpc.proto import messages as m
from mqframe_grpc.transport.call import Answered, CallHead, GrpcCall, Method
from mqframe_grpc.transport.messages import IncomingMessages
from mqframe_grpc.transport.status import GrpcError, GrpcStatus
from mqframe_grpc.transport.streams import HttpStream
from mqframe_testing.cluster_scene import ClusterScene

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import RpcHook
from mqframe.net.clock import Every

CLIENT: Final = "a@1@2@3"
ADDRESS: Final = "10.0.0.7:40000"
ENDPOINTS: Final = m.Endpoints(scheme=m.AddressScheme.IPv4, addresses=[m.Address(host="10.0.0.1", port=8081)])
_RENEW_SECONDS: Final = 1.0
_MESSAGE_BYTES_MAX: Final = 8 << 20
_ids = itertools.count(1)


class MemoryCarrier:
    """Keeps the answers of one call, instead of a connection. `certificate`: its common name; `pieces`: how
    many answers came with each piece of what was sent."""

    def __init__(self, answered: type[m.ProtoMessage], address: str = ADDRESS, certificate: str = "") -> None:
        self.address = address
        self.certificate = certificate
        self.answers: list[Any] = []
        self.pieces: list[int] = []
        self._answered = answered
        self._incoming = IncomingMessages("identity", _MESSAGE_BYTES_MAX)

    def send(self, call: GrpcCall, data: bytes) -> None:
        before = len(self.answers)
        self._incoming.feed(data)
        while (message := self._incoming.take()) is not None:
            self.answers.append(self._answered.FromString(message.content))
        self.pieces.append(len(self.answers) - before)

    def answered(self, last: Answered) -> None:
        """The answer that a call returned, as it arrives."""
        self.answers.append(self._answered.FromString(last.SerializeToString()))

    def taken(self, call: GrpcCall, size: int) -> None:
        pass


class MemoryCall:
    """A call that is being served. `answers`: what came so far; `task`: ends with the call."""

    def __init__(self, call: GrpcCall, carrier: MemoryCarrier, work: Any) -> None:
        self.grpc = call
        self.task = call.task = asyncio.ensure_future(self._serve(work))
        self._carrier = carrier
        self.too_late = False

    @property
    def answers(self) -> list[Any]:
        return self._carrier.answers

    @property
    def pieces(self) -> list[int]:
        return self._carrier.pieces

    async def _serve(self, work: Any) -> list[Any]:
        """All answers. Raises `GrpcError` for a call that has none."""
        try:
            last = await work
        except asyncio.CancelledError:
            if self.too_late:
                raise GrpcError(GrpcStatus.DEADLINE_EXCEEDED, "the time of the call is over") from None
            raise
        finally:
            self.grpc.ended = True
        if last is not None:
            self._carrier.answered(last)
        return self.answers

    def cancel(self) -> None:
        """The client gives it up, or is gone."""
        self.grpc.ended = True
        self.task.cancel()

    def expire(self) -> None:
        """Its deadline is over."""
        self.too_late = self.task.cancel()


class MemoryStream(MemoryCall):
    """A Telemetry stream. `answers` are commands and settings of the door."""

    @property
    def commands(self) -> list[Any]:
        """What the door asks of the client: all but settings."""
        return [each for each in self.answers if each.WhichOneof("command") != "settings"]

    def tell(self, command: m.TelemetryCommand) -> None:
        """The client sends `command`."""
        data = command.SerializeToString()
        self.grpc.arrived(data, len(data))

    def close(self) -> None:
        """The client sends no more."""
        self.grpc.no_more()


class DoorScene(ClusterScene):
    """A cluster with a door in the process of broker-a, or `outside`, before all brokers.

    `options`: of the door; `cluster`: those of `ClusterScene`. Topics have the type of their name in `types`
    ("FIFO", "DELAY", "TRANSACTION", "MIXED"), else NORMAL. Groups of FIFO: `await scene.create_group(…)`.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        outside: bool = False,
        options: GrpcOptions | None = None,
        types: Mapping[str, str] | None = None,
        topics: Mapping[str, int] | None = None,
        **cluster: Any,
    ) -> None:
        super().__init__(brokers, **cluster)
        self.outside = outside
        self.options = options or GrpcOptions()
        self._typed = dict(topics or {})
        self._types = dict(types or {})
        self._methods: Mapping[str, Method] = {}
        self._renewal: Every | None = None
        self._calls: list[MemoryCall] = []
        self.running: OutsideBackend | None = None
        self.rpc_hooks: tuple[RpcHook, ...] = ()

    async def start(self) -> None:
        await super().start()
        for name, queues in self._typed.items():
            await self.create_topic(name, self._types.get(name, "NORMAL"), queues)
        await self.open_door()

    async def stop(self) -> None:
        try:
            await self.close_door()
        finally:
            await super().stop()

    # The door

    async def backend(self) -> Backend:
        """What the door stands before. One outside is kept in `running`, to be stopped."""
        if not self.outside:
            return InsideBackend(self.cluster.broker.service_port)
        settings = ClientSettings(nameserver=self.nameserver, request_timeout_seconds=2.0)
        self.running = OutsideBackend(ClientInstance.connect(settings, self.clock, rpc_hooks=self.rpc_hooks))
        await self.running.start()
        return self.running

    async def judge(self) -> Judge:
        """Who says whether callers may call."""
        return ask_nobody if self.outside else self.cluster.broker.service_port.requests.judge

    async def open_door(self) -> None:
        """Make a door, which knows nothing of what another one did."""
        self.door = Door(await self.backend(), self.clock, self.options, await self.judge())
        self._methods = self.door.methods()
        self._renewal = Every(self.clock, _RENEW_SECONDS, self.door.renew, name="renewal")

    async def close_door(self) -> None:
        """End all calls, and the door."""
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*[call.task for call in self._calls], return_exceptions=True)
        self._calls.clear()
        if self._renewal is not None:
            self._renewal.stop()
            self._renewal = None
            self.door.stop()
        if self.running is not None:
            await self.finish(self.running.stop())
            self.running = None

    async def restart_broker(self, index: int = 0) -> None:
        """Restart a broker; a door in its process goes with it."""
        await self.cluster.restart_broker(index)
        if not self.outside:
            await self.close_door()
            await self.open_door()

    # Calls

    def begin(
        self,
        rpc: str,
        request: Any = None,
        client: str = CLIENT,
        timeout: float | None = 3.0,
        **metadata: str,
    ) -> MemoryCall:
        """A call that goes on. `timeout`: seconds that the client waits, `None`: it says nothing of that.

        `metadata`: more header fields, with `_` for `-`.
        """
        return self._serve(MemoryCall, rpc, request, client, timeout, metadata)

    def _serve(
        self,
        kind: Any,
        rpc: str,
        request: Any,
        client: str,
        timeout: float | None,
        metadata: Mapping[str, str],
    ) -> Any:
        path = SERVICE + rpc
        method = self._methods[path]
        fields = {
            ":path": path,
            "x-mq-client-id": client,
            "x-mq-language": "PYTHON",
            "x-mq-client-version": "5.1.2",
            **{name.replace("_", "-"): value for name, value in metadata.items()},
        }
        carrier = MemoryCarrier(m.METHODS[path][1])
        deadline = None if timeout is None else self.clock.monotonic() + timeout
        head = CallHead(method, fields, deadline)
        call = GrpcCall(carrier, HttpStream(1, 0, 0), head, IncomingMessages("identity", _MESSAGE_BYTES_MAX))
        work = method.serve(call) if method.both_ways else method.serve(call, request)
        begun = kind(call, carrier, work)
        self._calls.append(begun)
        if timeout is not None:
            timer = self.clock.call_later(timeout, begun.expire)
            begun.task.add_done_callback(lambda _: timer.cancel())
        begun.task.add_done_callback(lambda _: self._ended(begun))
        return begun

    def _ended(self, call: MemoryCall) -> None:
        if call in self._calls:
            self._calls.remove(call)

    async def call(
        self,
        rpc: str,
        request: Any,
        client: str = CLIENT,
        timeout: float | None = 3.0,
        **metadata: str,
    ) -> list[Any]:
        """All answers to a call: one to most. Raises `GrpcError` where there are none. Time passes."""
        found: list[Any] = await self.finish(self.begin(rpc, request, client, timeout, **metadata).task)
        return found

    async def join(self, client: str, settings: m.Settings, **metadata: str) -> MemoryStream:
        """The Telemetry stream of a client that has told its settings, and has got those of the door.

        Those are `stream.answers[0].settings`. Raises `GrpcError` where the door ends the stream.
        """
        stream: MemoryStream = self._serve(MemoryStream, "Telemetry", None, client, None, metadata)
        stream.tell(m.TelemetryCommand(settings=settings))
        await self.until(lambda: stream.answers or stream.task.done())
        if stream.task.done():
            stream.task.result()
        return stream

    async def leave(self, client: str, stream: MemoryStream, group: str = "") -> None:
        """A client says farewell."""
        request = m.NotifyClientTerminationRequest(group=m.Resource(name=group))
        [answer] = await self.call("NotifyClientTermination", request, client)
        assert answer.status.code == m.Code.OK, answer
        stream.close()
        await self.finish(stream.task)

    # What is done most

    async def create_topic(self, name: str, kind: str = "NORMAL", queues: int = 4) -> None:
        """Make a topic for messages of one type, or of all: MIXED."""
        attributes = "" if kind == "NORMAL" else f"+message.type={kind}"
        await self.finish(self.cluster.create_topic(name, queues, attributes=attributes))

    async def create_group(self, name: str, *, ordered: bool = False, retries: int = 16) -> None:
        """Make a consumer group on all brokers, `ordered` for FIFO; `retries`: after the first delivery."""
        config = SubscriptionGroupConfig(
            group_name=name, consume_message_orderly=ordered, retry_max_times=retries
        )
        for broker in range(len(self.cluster.brokers)):
            client = self.connect(broker)
            await client.ok(UpdateAndCreateSubscriptionGroup(), dumps(config))
            await self.disconnect(client)

    async def send_one(self, message: m.Message, client: str = CLIENT, timeout: float = 3.0) -> Any:
        """The entry of a message that is stored."""
        request = m.SendMessageRequest(messages=[message])
        [answer] = await self.call("SendMessage", request, client, timeout)
        assert answer.status.code == m.Code.OK, answer
        [entry] = answer.entries
        return entry

    async def receive(
        self,
        topic: str,
        group: str,
        client: str = CLIENT,
        *,
        broker: str = "broker-a",
        count: int = 32,
        seconds: float = 5.0,
        invisible_seconds: int = 30,
        **fields: Any,
    ) -> list[Any]:
        """The messages of one receive of a simple consumer; none where it says that there are none."""
        request = receive_request(
            topic,
            group,
            broker=broker,
            count=count,
            seconds=seconds,
            invisible_seconds=invisible_seconds,
            **fields,
        )
        answers = await self.call("ReceiveMessage", request, client, seconds + 3.0)
        first = answers[0].status
        assert first.code in (m.Code.OK, m.Code.MESSAGE_NOT_FOUND), first
        return [each.message for each in answers[1:] if each.WhichOneof("content") == "message"]

    async def acknowledge(self, group: str, *messages: Any, client: str = CLIENT) -> list[Any]:
        """Acknowledge messages of one topic; a result for each."""
        [answer] = await self.call("AckMessage", acknowledgement(group, messages), client)
        return list(answer.entries)


def message(topic: str, body: bytes, **properties: Any) -> m.Message:
    """A message as clients make it. `properties`: system properties; `user=`: a dict of others."""
    user = properties.pop("user", {})
    values: dict[str, Any] = {"message_id": f"01{next(_ids):032X}", "message_type": m.MessageType.NORMAL}
    said = m.SystemProperties(**(values | properties))
    return m.Message(topic=m.Resource(name=topic), user_properties=user, system_properties=said, body=body)


def receive_request(
    topic: str,
    group: str,
    *,
    broker: str = "broker-a",
    count: int = 32,
    seconds: float = 5.0,
    invisible_seconds: int = 30,
    expression: str = "*",
    **fields: Any,
) -> m.ReceiveMessageRequest:
    """What a simple consumer asks; with `auto_renew=True` a push consumer. `expression`: of tags."""
    return m.ReceiveMessageRequest(
        group=m.Resource(name=group),
        message_queue=m.MessageQueue(topic=m.Resource(name=topic), broker=m.Broker(name=broker), id=-1),
        filter_expression=m.FilterExpression(type=m.FilterType.TAG, expression=expression),
        batch_size=count,
        invisible_duration=m.Duration(seconds=invisible_seconds),
        long_polling_timeout=m.Duration(seconds=int(seconds)),
        **fields,
    )


def producer_settings(*topics: str) -> m.Settings:
    """The settings of a producer."""
    return m.Settings(
        client_type=m.ClientType.PRODUCER,
        request_timeout=m.Duration(seconds=3),
        publishing=m.Publishing(topics=[m.Resource(name=each) for each in topics]),
    )


def consumer_settings(
    group: str, *topics: str, kind: m.ClientType = m.ClientType.SIMPLE_CONSUMER
) -> m.Settings:
    """The settings of a consumer that wants all messages of its topics."""
    every = m.FilterExpression(type=m.FilterType.TAG, expression="*")
    return m.Settings(
        client_type=kind,
        request_timeout=m.Duration(seconds=3),
        subscription=m.Subscription(
            group=m.Resource(name=group),
            subscriptions=[
                m.SubscriptionEntry(topic=m.Resource(name=each), expression=every) for each in topics
            ],
            long_polling_timeout=m.Duration(seconds=20),
        ),
    )


def acknowledgement(group: str, messages: Sequence[Any]) -> m.AckMessageRequest:
    """What acknowledges messages of one topic that the group has received."""
    entries = [
        m.AckMessageEntry(
            message_id=each.system_properties.message_id, receipt_handle=each.system_properties.receipt_handle
        )
        for each in messages
    ]
    return m.AckMessageRequest(group=m.Resource(name=group), topic=messages[0].topic, entries=entries)
