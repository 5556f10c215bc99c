"""Administration for asyncio programs."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from mqframe.client.admin_cluster import ClusterAdmin
from mqframe.client.admin_dead_letters import DeadLetterAdmin
from mqframe.client.admin_growth import GrowthAdmin
from mqframe.client.admin_members import MemberAdmin
from mqframe.client.admin_modes import ModeAdmin
from mqframe.client.admin_offsets import OffsetAdmin
from mqframe.client.admin_topics import TopicAdmin
from mqframe.client.identity import with_nameserver
from mqframe.client.instance import ClientInstance
from mqframe.client.settings import ClientSettings
from mqframe.hooks.manager import PluginManager, default_manager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings


class AsyncAdmin(DeadLetterAdmin, GrowthAdmin, TopicAdmin, MemberAdmin, OffsetAdmin, ClusterAdmin, ModeAdmin):
    """Topics, groups, offsets, messages, brokers and name servers of a cluster.

        async with AsyncAdmin(nameserver="127.0.0.1:9876") as admin:
            await admin.create_topic("orders", queues=4)

    `nameserver`: "host:port;host:port", by default what the variable NAMESRV_ADDR holds. Must be made on the
    loop that uses it. Methods raise `AnswerError` with the code of a broker that refused, and a `RetryError`
    when one could not be reached.
    """

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
        hooks = (plugins or default_manager()).create_all("rpc_hook", rpc_hooks)
        settings = with_nameserver(client, nameserver)
        super().__init__(ClientInstance.connect(settings, clock or SystemClock(), net, rpc_hooks=hooks))

    async def start(self) -> None:
        """Nothing is needed: connections open when something is asked."""

    async def stop(self) -> None:
        """Close all connections."""
        await self._instance.stop()

    async def __aenter__(self) -> AsyncAdmin:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
