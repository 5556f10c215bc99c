"""Plain pulls for asyncio programs: one request, one answer.

async with AsyncPuller("jobs", nameserver="127.0.0.1:9876") as puller:
    for queue in await puller.queues("orders"):
        result = await puller.pull(queue, await puller.min_offset(queue))
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from mqframe.client.connection.identity import with_nameserver
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.consuming.puller.calls import ANSWER_SECONDS, GROUP, PullCalls
from mqframe.client.settings import ClientSettings
from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import ConnectionLost
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings

T = TypeVar("T")


class AsyncPuller(PullCalls, AsyncClient):
    """Reads queues at any offset as `group`, without membership, balance or automatic commits.

    `timeout`: seconds that the answer to a pull may take beyond the time that the broker was allowed to wait.
    Servers that restart are waited for, at most `client.patience_seconds`.
    `nameserver`, `rpc_hooks`, `client`, `net`, `plugins`: as of `AsyncPushConsumer`.

    Only here: `instance`, a started client instance to share, which is left running, so that there is nothing
    to start or to stop; `clock`, for tests.
    """

    _section = "puller"

    def __init__(
        self,
        group: str = GROUP,
        *,
        nameserver: str = "",
        timeout: float = ANSWER_SECONDS,
        rpc_hooks: Sequence[object] = (),
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        instance: ClientInstance | None = None,
        clock: LoopClock | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        self._own = None
        if instance is None:
            hooks = (plugins or PluginManager()).create_all("rpc_hook", rpc_hooks)
            instance = self._own = ClientInstance.connect(
                with_nameserver(client, nameserver), clock or SystemClock(), net, rpc_hooks=hooks
            )
        super().__init__(_InstanceTransport(instance), group, timeout, instance.settings)

    async def start(self) -> None:
        """Begin to work; for a few pulls it may be left out. Raises `ClosedError` once stopped."""
        if self._own is not None:
            await self._own.start()

    async def stop(self) -> None:
        """Close all connections."""
        if self._own is not None:
            await self._own.stop()


class _InstanceTransport:
    """The transport of an asyncio client: routes are renewed as those of its other parts.

    Nothing that pullers ask changes anything that could not be asked again, so all of it waits for servers
    that restart.
    """

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    async def route(self, topic: str, *, refresh: bool = False) -> TopicRoute:
        return await self._patiently(lambda: self._instance.route(topic, refresh=refresh))

    async def call(
        self, address: str, request: Request, body: bytes = b"", *, timeout: float | None = None
    ) -> Frame:
        return await self._patiently(lambda: self._instance.call(address, request, body, timeout=timeout))

    async def call_nameserver(self, request: Request) -> Frame:
        return await self._patiently(lambda: self._instance.call_nameserver(request))

    async def invoke(self, address: str, request: Request, *, timeout: float) -> Frame:
        invoke = self._instance.remoting.invoke
        return await self._patiently(lambda: invoke(address, request, timeout=timeout))

    async def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float) -> list[Frame]:
        return await asyncio.gather(*[self.invoke(address, each, timeout=timeout) for each in requests])

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        return await self._instance.patience.through(work, also=(ConnectionLost,))
