"""Administration for asyncio programs."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.client.connection.identity import with_nameserver
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.connection.lifecycle import AsyncClient
from mqframe.client.settings import ClientSettings
from mqframe.hooks.manager import PluginManager
from mqframe.net.clock import LoopClock, SystemClock
from mqframe.net.settings import NetSettings
from mqframe_admin.client.allocation import AsyncAllocationAdmin
from mqframe_admin.client.brokers import AsyncBrokerAdmin
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.cluster import AsyncClusterAdmin
from mqframe_admin.client.dead_letters import AsyncDeadLetterAdmin
from mqframe_admin.client.groups import AsyncGroupAdmin
from mqframe_admin.client.kv import AsyncKvAdmin
from mqframe_admin.client.members import AsyncMemberAdmin
from mqframe_admin.client.messages import AsyncMessageAdmin
from mqframe_admin.client.offsets import AsyncOffsetAdmin
from mqframe_admin.client.policies import AsyncPolicyAdmin
from mqframe_admin.client.queue_expansion import AsyncQueueExpansionAdmin
from mqframe_admin.client.replicas import AsyncReplicaAdmin
from mqframe_admin.client.topic_moves import AsyncTopicMoveAdmin
from mqframe_admin.client.topics import AsyncTopicAdmin
from mqframe_admin.client.users import AsyncUserAdmin


class AsyncAdmin(AsyncClient):
    """Topics, groups, offsets, messages, brokers and name servers of a cluster.

        async with AsyncAdmin(nameserver="127.0.0.1:9876") as admin:
            await admin.topics.create("orders", queues=4)

    `nameserver`: "host:port;host:port", by default what the variable NAMESRV_ADDR holds. What there is to do
    lies with its subject. Methods raise `AnswerError` with the code of a broker that refused, and a
    `RetryError` when one could not be reached.

    Only here: `clock`, for tests.
    """

    _section = "admin"

    topics: AsyncTopicAdmin
    """Topics: made, changed, deleted and looked at."""
    queue_expansion: AsyncQueueExpansionAdmin
    """More queues for a topic whose order is kept."""
    topic_moves: AsyncTopicMoveAdmin
    """Topics that leave a broker for others."""
    groups: AsyncGroupAdmin
    """Consumer groups: configuration, progress, lag."""
    members: AsyncMemberAdmin
    """Members of groups that are online: what they do and hold."""
    allocation: AsyncAllocationAdmin
    """Which member of a group has which queue, and which would."""
    offsets: AsyncOffsetAdmin
    """Offsets: of queues, and those of groups, to be reset."""
    messages: AsyncMessageAdmin
    """Stored messages by id and key, their traces, half messages."""
    dead_letters: AsyncDeadLetterAdmin
    """What groups gave up: read, and sent again."""
    cluster: AsyncClusterAdmin
    """Which brokers there are."""
    brokers: AsyncBrokerAdmin
    """Single brokers: settings, counters, whether producers use them."""
    replicas: AsyncReplicaAdmin
    """Masters and their slaves: how far they are, and who is which."""
    kv: AsyncKvAdmin
    """Values that name servers hold."""
    users: AsyncUserAdmin
    """Users of servers that check who asks."""
    policies: AsyncPolicyAdmin
    """What these users may do."""

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
        # Operators see names as brokers have them, whatever namespace the applications beside them use.
        settings = attrs.evolve(with_nameserver(client, nameserver), namespace="")  # type: ignore[misc]
        calls = AdminCalls(ClientInstance.connect(settings, clock, net, rpc_hooks=hooks))
        self._calls = calls
        self.topics = AsyncTopicAdmin(calls)
        self.members = AsyncMemberAdmin(calls)
        self.groups = AsyncGroupAdmin(calls, self.members)
        self.queue_expansion = AsyncQueueExpansionAdmin(calls, self.topics, self.groups)
        self.allocation = AsyncAllocationAdmin(calls, self.groups, self.members, plugins)
        self.offsets = AsyncOffsetAdmin(calls)
        self.messages = AsyncMessageAdmin(calls)
        self.dead_letters = AsyncDeadLetterAdmin(calls, self.topics, self.messages)
        self.cluster = AsyncClusterAdmin(calls)
        self.brokers = AsyncBrokerAdmin(calls)
        self.topic_moves = AsyncTopicMoveAdmin(calls, self.topics, self.groups, self.brokers)
        self.replicas = AsyncReplicaAdmin(calls, self.brokers)
        self.kv = AsyncKvAdmin(calls)
        self.users = AsyncUserAdmin(calls)
        self.policies = AsyncPolicyAdmin(calls)

    async def start(self) -> None:
        """Begin to work: connections open when something is asked. Raises `ClosedError` once stopped."""
        self._calls.instance.remoting.check_usable()

    async def stop(self) -> None:
        """Close all connections."""
        await self._calls.instance.stop()
