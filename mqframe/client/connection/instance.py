"""The part that all clients share: route cache, heartbeats, and requests from brokers.

Source: MQClientInstance.java.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import attrs

from mqframe.client.connection.identity import client_id, local_ip, nameserver_text, wire_hooks
from mqframe.client.connection.outages import Outages
from mqframe.client.connection.patience import Patience
from mqframe.client.connection.route_cache import RouteCache
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.client_bodies import ConsumerData, HeartbeatData, ProducerData
from mqframe.core.cluster.name_servers import NameServers, parse_addresses
from mqframe.core.cluster.route import MASTER_ID, TopicRoute
from mqframe.core.errors import CallTimeout, MqframeError
from mqframe.core.requests.consumers import HeartBeat, NotifyConsumerIdsChanged, UnregisterClient
from mqframe.core.requests.fields import Request
from mqframe.core.requests.refusals import refusal
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe.hooks.client_parts import load_part, offered_parts
from mqframe.hooks.interfaces import RpcHook
from mqframe.log import get_logger
from mqframe.net.client import Client
from mqframe.net.clock import Every, LoopClock, SystemClock, within
from mqframe.net.settings import NetSettings

if TYPE_CHECKING:
    from mqframe.client.connection.operator_requests import OperatorRequests

log = get_logger("client")

REPLIES: Final = "replies"
"""The part of a client that replies are handed to."""
_LAST_BEAT_SECONDS: Final = 1.0
"""How long the leaving of a broker waits at most for the answer to a heartbeat."""


def _nothing() -> None:
    """What is done about a change that does not matter."""


@attrs.frozen
class ConsumerRegistration:
    """What a client instance does for a consumer: heartbeats, and notices of changes.

    `heartbeat_data`: returns what heartbeats say of it; `members_changed`: called when a broker says that the
    group has other members now; `routes_changed`: when queues or brokers of a topic in use changed.
    """

    heartbeat_data: Callable[[], ConsumerData]
    members_changed: Callable[[], object] = _nothing
    routes_changed: Callable[[], object] = _nothing


class ClientInstance:
    """Routes, heartbeats and notices of one client, on one asyncio loop.

    `remoting`: carries its calls, and the requests of brokers. `ClientInstance.connect` makes both.
    """

    def __init__(self, settings: ClientSettings, clock: LoopClock, remoting: Client) -> None:
        self.settings = settings
        self.remoting = remoting
        self.ip = local_ip(settings)
        self.client_id = client_id(settings, self.ip)
        self.broker_versions: dict[str, int] = {}
        """Protocol version of each broker by address, learnt from heartbeat answers."""
        self.transaction_checks: dict[str, Callable[[Any], None]] = {}
        """Who answers for the transactions of each producer group."""
        self.outages = Outages(clock)
        """Servers that cannot be reached at the moment."""
        self.clock = clock
        self.patience = Patience(clock.monotonic, clock.sleep, random.random, settings.patience_seconds)
        """How calls wait while a server is busy or restarts."""
        servers = NameServers(parse_addresses(nameserver_text(settings)), random.randrange(1 << 16))
        self._routes = RouteCache(
            remoting, servers, settings.request_timeout_seconds, self._routes_changed, self.outages
        )
        self._consumers: dict[str, ConsumerRegistration] = {}
        self._producers: set[str] = set()
        self._notified: set[str] = set()
        self._beats: dict[str, set[asyncio.Task[None]]] = {}
        self._periodic: list[Every] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        remoting.serve(self)
        remoting.on_open = self._connection_opened
        remoting.on_close = self._connection_closed
        self._replies: Any = None
        self._stopped = False
        remoting.serve_late(lambda: self.operator_requests)
        remoting.serve_late(lambda: self.replies if REPLIES in offered_parts() else None)

    @property
    def replies(self) -> Any:
        """The replies that brokers hand to this client: a part of clients, made with its clock for the first
        request, or the first reply. As long as somebody waits for one, it is true; `close` ends that.

        Raises `FixError` where the distribution of requests is not installed.
        """
        if self._replies is None:
            self._replies = load_part(REPLIES)(self.clock)
            if self._stopped:
                self._replies.close()
        return self._replies

    @cached_property
    def operator_requests(self) -> OperatorRequests:
        """Answers what operators ask of the consumers here; made for the first of them, or when one asks."""
        # Producers need it where somebody asks for a consumer that they do not have.
        from mqframe.client.connection.operator_requests import OperatorRequests

        return OperatorRequests(lambda: self._routes.nameservers)

    @classmethod
    def connect(
        cls,
        settings: ClientSettings,
        clock: LoopClock | None = None,
        net: NetSettings | None = None,
        *,
        rpc_hooks: tuple[RpcHook, ...] = (),
    ) -> ClientInstance:
        """An instance with a remoting of its own. What brokers may ask is added with `remoting.serve`.

        `clock`: for tests.
        """
        clock = clock or SystemClock()
        hooks = wire_hooks(settings, rpc_hooks)
        return cls(settings, clock, Client(clock, net or NetSettings(), rpc_hooks=hooks))

    async def start(self) -> None:
        """Begin to poll routes and to send heartbeats, once. Raises `ClosedError` after `stop`."""
        self.remoting.check_usable()
        self._routes.start()
        self._periodic = self._periodic or [
            Every(self.clock, self.settings.route_poll_seconds, self._routes.poll, name="route poll"),
            Every(self.clock, self.settings.heartbeat_seconds, self.heartbeat_now, name="heartbeat"),
        ]

    async def stop(self) -> None:
        """Leave all groups, then close all connections."""
        self._stopped = True
        if self._replies is not None:
            self._replies.close()
        self._routes.stop()
        for periodic in self._periodic:
            periodic.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(
            *[self.unregister_consumer(group) for group in list(self._consumers)],
            *[self.unregister_producer(group) for group in list(self._producers)],
        )
        for beats in self._beats.values():
            for beat in beats:
                beat.cancel()
        await self.remoting.close()

    # Routes

    @property
    def routes(self) -> RouteCache:
        """Routes of the topics in use."""
        return self._routes

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`, from the cache unless `refresh`. Raises `RouteError` when nobody knows it."""
        return await self._routes.route(topic, refresh=refresh)

    async def call(
        self, address: str, request: Request, body: bytes = b"", *, timeout: float | None = None
    ) -> Frame:
        """The successful answer of `address`. Raises the `AnswerError` that any other answer stands for."""
        seconds = self.settings.request_timeout_seconds if timeout is None else timeout
        answer = await self.remoting.invoke(address, request, body, timeout=seconds)
        if answer.code:
            raise refusal(request, answer, address)
        return answer

    async def call_nameserver(self, request: Request, body: bytes = b"") -> Frame:
        """The successful answer of a name server; another one is asked when it cannot be reached."""
        return await self._routes.ask(request, body)

    # Groups

    def register_consumer(self, group: str, consumer: ConsumerRegistration) -> None:
        """Announce `group` to brokers from now on, and notify `consumer` of what they say of it."""
        self._consumers[group] = consumer
        self.spawn(self.heartbeat_now())

    async def unregister_consumer(self, group: str) -> None:
        """Leave `group` at all brokers."""
        if self._consumers.pop(group, None) is not None:
            await self._unregister(UnregisterClient(self.client_id, None, group))

    def register_producer(self, group: str) -> None:
        """Announce the producer group to brokers from now on."""
        self._producers.add(group)
        self.spawn(self.heartbeat_now())

    async def unregister_producer(self, group: str) -> None:
        """Leave the producer group at all brokers."""
        if group in self._producers:
            self._producers.discard(group)
            await self._unregister(UnregisterClient(self.client_id, group, None))

    async def broker_version(self, address: str) -> int:
        """The protocol version of the broker at `address`: as its last heartbeat's answer said, else asked
        for now; a refusal tells it, too. Raises `RetryError` when there is no answer."""
        known = self.broker_versions.get(address)
        if known is None:
            seconds = self.settings.request_timeout_seconds
            answer = await self.remoting.invoke(address, HeartBeat(), self._heartbeat(), timeout=seconds)
            known = self.broker_versions[address] = answer.version
        return known

    async def heartbeat_now(self) -> None:
        """Heartbeats to all brokers of known routes, masters only without a consumer. Failures are logged."""
        if not self._consumers and not self._producers:
            return
        addresses = self._addresses(masters_only=not self._consumers)
        self._notified = set(addresses)
        body = self._heartbeat()
        beats = [self._beat(address, body) for address in addresses]
        if beats:
            await asyncio.wait(beats)  # which go on when nobody waits: whoever leaves has to know their ends

    def _heartbeat(self) -> bytes:
        consumers = [each.heartbeat_data() for each in self._consumers.values()]
        for each in consumers:
            each.unit_mode = self.settings.unit_mode
        return loose_json.dumps(
            HeartbeatData(
                self.client_id,
                consumers,
                producer_data_set=[ProducerData(group) for group in sorted(self._producers)],
            )
        )

    def _beat(self, address: str, body: bytes, *, patient: bool = False) -> asyncio.Task[None]:
        beat = asyncio.ensure_future(self._send_beat(address, body, patient))
        self._beats.setdefault(address, set()).add(beat)
        beat.add_done_callback(lambda beat: self._beat_ended(address, beat))
        return beat

    def _beat_ended(self, address: str, beat: asyncio.Task[None]) -> None:
        beats = self._beats[address]
        beats.discard(beat)
        if not beats:
            del self._beats[address]
        self._finished(beat)

    async def _send_beat(self, address: str, body: bytes, patient: bool) -> None:
        async def call(seconds: float) -> Frame:
            return await self.call(address, HeartBeat(), body, timeout=seconds)

        seconds = self.settings.request_timeout_seconds
        try:
            if patient:
                answer = await self.patience.over(call, seconds, repeatable=True)
            else:
                answer = await call(seconds)
            self.outages.over("heartbeat failed", address)
            self.broker_versions[address] = answer.version
        except MqframeError as problem:
            self.outages.note("heartbeat failed", address, problem, broker=address)

    def _connection_opened(self, address: str) -> None:
        """A broker forgets a client whose connection ends: it is told at once that the client is there."""
        has_groups = bool(self._consumers or self._producers)
        if has_groups and address in self._notified and address not in self._beats:
            self._beat(address, self._heartbeat())

    def _connection_closed(self, address: str) -> None:
        """Replies come over connections that this client has opened: while some are missing, it returns."""
        if self._replies and address in self._notified and address not in self._beats:
            self._beat(address, self._heartbeat(), patient=True)

    async def _unregister(self, request: UnregisterClient) -> None:
        # At once: of brokers that are away each would take the whole time of a call.
        addresses = self._addresses(masters_only=False)
        await asyncio.gather(*[self._leave(address, request) for address in addresses])

    async def _leave(self, address: str, request: UnregisterClient) -> None:
        # Brokers serve the two side by side: a heartbeat that is still under way could bring the group back.
        if beats := tuple(self._beats.get(address, ())):
            with contextlib.suppress(CallTimeout):
                await within(self.clock, _LAST_BEAT_SECONDS, asyncio.wait(beats))
        try:
            await self.call(address, request)
        except MqframeError as problem:
            log.info("broker was not notified of the leaving", broker=address, reason=str(problem))

    def _addresses(self, *, masters_only: bool) -> list[str]:
        found = {
            address
            for members in self._routes.brokers().values()
            for broker_id, address in members.items()
            if broker_id == MASTER_ID or not masters_only
        }
        return sorted(found)

    # What happens to it

    @serves(NotifyConsumerIdsChanged)
    def members_changed(self, fields: NotifyConsumerIdsChanged, call: Call) -> Reply:
        """Notify the consumer of that group, or all when it is not known."""
        consumer = self._consumers.get(fields.consumer_group)
        for each in [consumer] if consumer is not None else list(self._consumers.values()):
            each.members_changed()
        return Reply()

    def _routes_changed(self) -> None:
        known = self._addresses(masters_only=not self._consumers)
        self.broker_versions = {a: v for a, v in self.broker_versions.items() if a in known}
        if not self._notified.issuperset(known):
            self.spawn(self.heartbeat_now())
        for consumer in list(self._consumers.values()):
            consumer.routes_changed()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` beside; it is cancelled when the instance stops. Its errors are logged."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("background task failed", exc_info=task.exception())
