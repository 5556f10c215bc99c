"""Administration for asyncio programs."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.client.admin.allocation import AllocationAdmin
from mqframe.client.admin.dead_letters import DeadLetterAdmin
from mqframe.client.admin.offsets import OffsetAdmin
from mqframe.client.admin.queue_expansion import QueueExpansionAdmin
from mqframe.client.admin.replicas import ReplicaAdmin
from mqframe.client.admin.topics import TopicAdmin
from mqframe.client.admin.users import UserAdmin
from mqframe.client.connection.identity import with_nameserver
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.settings import ClientSettings
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings


class AsyncAdmin(
    DeadLetterAdmin,
    QueueExpansionAdmin,
    TopicAdmin,
    AllocationAdmin,
    OffsetAdmin,
    ReplicaAdmin,
    UserAdmin,
    AsyncClient,
):
    """Topics, groups, offsets, messages, brokers and name servers of a cluster.

        async with AsyncAdmin(nameserver="127.0.0.1:9876") as admin:
            await admin.create_topic("orders", queues=4)

    `nameserver`: "host:port;host:port", by default what the variable NAMESRV_ADDR holds. Methods raise
    `AnswerError` with the code of a broker that refused, and a `RetryError` when one could not be reached.

    Only here: `clock`, for tests.
    """

    _section = "admin"

    def __init__(
        self,
        *,
        nameserver: str = "",
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        rpc_hooks: Sequence[object] = (),
        clock: LoopClock | None = None,
        plugins: PluginManager | None = None,
    ) -> None:
        plugins = plugins or PluginManager()
        clock = clock or SystemClock()
        hooks = plugins.create_all("rpc_hook", rpc_hooks)
        settings = with_nameserver(client, nameserver)
        super().__init__(ClientInstance.connect(settings, clock, net, rpc_hooks=hooks), clock, plugins)

    async def start(self) -> None:
        """Begin to work: connections open when something is asked. Raises `ClosedError` once stopped."""
        self._instance.remoting.check_usable()

    async def stop(self) -> None:
        """Close all connections."""
        await self._instance.stop()
