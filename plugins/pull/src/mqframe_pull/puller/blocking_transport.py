"""Plain pulls without a loop: calls block the calling thread. Spark tasks and other jobs read queues so."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ParamSpec, Self, TypeVar

from mqframe.client.configuration.from_config import Configurable
from mqframe.client.connection.identity import nameserver_text, wire_hooks, with_nameserver
from mqframe.client.connection.lifecycle import described
from mqframe.client.connection.patience import Patience
from mqframe.client.connection.route_cache import ask_any, plain, read_route
from mqframe.client.sending.blocking_transport import run_blocking, sleep_blocking
from mqframe.client.settings import PULL_ANSWER_SECONDS, ClientSettings
from mqframe.core.cluster.name_servers import NameServers, parse_addresses
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import AccessError, AnswerError, RouteError
from mqframe.core.messages.names import TOOLS_GROUP
from mqframe.core.requests.fields import Request
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.refusals import refusal
from mqframe.core.wire.frame import Frame
from mqframe.hooks.manager import PluginManager
from mqframe.net.blocking import BlockingClient
from mqframe.net.clock import SystemClock
from mqframe.net.settings import NetSettings
from mqframe_pull.puller.calls import PullCalls
from mqframe_pull.puller.patient_transport import PatientTransport

P = ParamSpec("P")
T = TypeVar("T")


class BlockingPullTransport:
    """Calls on the caller's thread, each at most `timeout` seconds; routes are kept until they fail."""

    def __init__(self, remoting: BlockingClient, servers: NameServers, timeout: float) -> None:
        self._remoting = remoting
        self._servers = servers
        self._timeout = timeout
        self._routes: dict[str, TopicRoute] = {}

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        """The route of `topic`, from the cache unless `refresh`."""
        found = self._routes.get(topic)
        if found is not None and not refresh:
            return found
        try:
            data = await self._ask_any(GetRouteinfoByTopic(topic), read_route)
        except AccessError:
            raise
        except AnswerError as refused:
            raise RouteError(f"no route to topic {topic}: {refused}") from refused
        route = TopicRoute(topic, data)
        self._routes[topic] = route
        return route

    async def call_nameserver(self, request: Request) -> Frame:
        """The successful answer of the first name server that can be reached."""
        return await self._ask_any(request, plain)

    async def _ask_any(self, request: Request, read: Callable[[Frame], T]) -> T:
        return await ask_any(
            self._servers, lambda address: self.invoke(address, request, timeout=self._timeout), read
        )

    async def call(
        self, address: str, request: Request, body: bytes = b"", *, timeout: float | None = None
    ) -> Frame:
        """The successful answer of `address`."""
        seconds = self._timeout if timeout is None else timeout
        answer = self._remoting.invoke(address, request, body, timeout=seconds)
        if answer.code:
            raise refusal(request, answer, address)
        return answer

    async def invoke(self, address: str, request: Request, *, timeout: float) -> Frame:
        """The answer of `address`, whatever its code."""
        return self._remoting.invoke(address, request, timeout=timeout)

    async def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float) -> list[Frame]:
        """The answers of `address` to requests that are sent at once."""
        return self._remoting.invoke_all(address, requests, timeout=timeout)


class BlockingPullCalls(Configurable):
    """Drives `PullCalls` without a loop, over connections of its own. Many threads may share it."""

    def __init__(
        self,
        group: str = TOOLS_GROUP,
        *,
        nameserver: str = "",
        timeout: float = PULL_ANSWER_SECONDS,
        rpc_hooks: Sequence[object] = (),
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        settings = with_nameserver(client, nameserver)
        addresses = parse_addresses(nameserver_text(settings))
        servers = NameServers(addresses, random.randrange(1 << 16))
        hooks = (plugins or PluginManager()).create_all("rpc_hook", rpc_hooks) if rpc_hooks else ()
        self._remoting = BlockingClient(SystemClock(), net, rpc_hooks=wire_hooks(settings, hooks))
        transport = BlockingPullTransport(self._remoting, servers, timeout)
        patience = Patience(time.monotonic, sleep_blocking, random.random, settings.patience_seconds)
        self._client = PullCalls(PatientTransport(transport, patience), group, timeout, settings)

    def start(self) -> None:
        """Begin to work; for a few pulls it may be left out. Raises `ClosedError` once stopped."""
        self._remoting.check_usable()

    def stop(self) -> None:
        """Close all connections."""
        self._remoting.close()

    def __repr__(self) -> str:
        return described(self, self._client.group, "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    @staticmethod
    def _call(method: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        return run_blocking(method(*args, **kwargs))
