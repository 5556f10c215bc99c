"""Plain pulls for asyncio programs: one request, one answer.

async with AsyncPuller("jobs", nameserver="127.0.0.1:9876") as puller:
    for queue in await puller.queues("orders"):
        result = await puller.pull(queue, await puller.min_offset(queue))
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mqframe.client.connection.identity import with_nameserver
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.settings import PULL_ANSWER_SECONDS, ClientSettings
from mqframe.core.messages.names import TOOLS_GROUP
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings
from mqframe_pull.puller.calls import PullCalls
from mqframe_pull.puller.patient_transport import PatientTransport


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
        group: str = TOOLS_GROUP,
        *,
        nameserver: str = "",
        timeout: float = PULL_ANSWER_SECONDS,
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
        transport = PatientTransport(_InstanceTransport(instance), instance.patience)
        super().__init__(transport, group, timeout, instance.settings)

    async def start(self) -> None:
        """Begin to work; for a few pulls it may be left out. Raises `ClosedError` once stopped."""
        if self._own is not None:
            await self._own.start()

    async def stop(self) -> None:
        """Close all connections."""
        if self._own is not None:
            await self._own.stop()


class _InstanceTransport:
    """The transport of an asyncio client: routes are renewed as those of its other parts."""

    def __init__(self, instance: ClientInstance) -> None:
        self.route = instance.route
        self.call = instance.call
        self.call_nameserver = instance.call_nameserver
        self.invoke = instance.remoting.invoke

    async def invoke_all(self, address: str, requests: Sequence[Request], *, timeout: float) -> list[Frame]:
        return await asyncio.gather(*[self.invoke(address, each, timeout=timeout) for each in requests])
