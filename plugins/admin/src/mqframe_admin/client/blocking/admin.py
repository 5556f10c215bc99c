"""Admin: `AsyncAdmin` for plain threads.

Generated from mqframe_admin.client.admin, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.client.connection.sync_api import SyncClient
from mqframe.client.settings import ClientSettings
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings
from mqframe_admin.client.admin import AsyncAdmin
from mqframe_admin.client.blocking.allocation import AllocationAdmin
from mqframe_admin.client.blocking.brokers import BrokerAdmin
from mqframe_admin.client.blocking.cluster import ClusterAdmin
from mqframe_admin.client.blocking.dead_letters import DeadLetterAdmin
from mqframe_admin.client.blocking.groups import GroupAdmin
from mqframe_admin.client.blocking.kv import KvAdmin
from mqframe_admin.client.blocking.members import MemberAdmin
from mqframe_admin.client.blocking.messages import MessageAdmin
from mqframe_admin.client.blocking.offsets import OffsetAdmin
from mqframe_admin.client.blocking.policies import PolicyAdmin
from mqframe_admin.client.blocking.queue_expansion import QueueExpansionAdmin
from mqframe_admin.client.blocking.replicas import ReplicaAdmin
from mqframe_admin.client.blocking.topic_moves import TopicMoveAdmin
from mqframe_admin.client.blocking.topics import TopicAdmin
from mqframe_admin.client.blocking.users import UserAdmin


class Admin(SyncClient[AsyncAdmin]):
    """Topics, groups, offsets, messages, brokers and name servers of a cluster.

        with Admin(nameserver="127.0.0.1:9876") as admin:
            admin.topics.create("orders", queues=4)

    `nameserver`: "host:port;host:port", by default what the variable NAMESRV_ADDR holds. What there is to do
    lies with its subject. Methods raise `AnswerError` with the code of a broker that refused, and a
    `RetryError` when one could not be reached.

    The work is done on a loop in a thread of its own; any thread may call any method. After a
    fork every method raises `ClosedError`.
    """

    _section = "admin"

    topics: TopicAdmin
    """Topics: made, changed, deleted and looked at."""

    queue_expansion: QueueExpansionAdmin
    """More queues for a topic whose order is kept."""

    topic_moves: TopicMoveAdmin
    """Topics that leave a broker for others."""

    groups: GroupAdmin
    """Consumer groups: configuration, progress, lag."""

    members: MemberAdmin
    """Members of groups that are online: what they do and hold."""

    allocation: AllocationAdmin
    """Which member of a group has which queue, and which would."""

    offsets: OffsetAdmin
    """Offsets: of queues, and those of groups, to be reset."""

    messages: MessageAdmin
    """Stored messages by id and key, their traces, half messages."""

    dead_letters: DeadLetterAdmin
    """What groups gave up: read, and sent again."""

    cluster: ClusterAdmin
    """Which brokers there are."""

    brokers: BrokerAdmin
    """Single brokers: settings, counters, whether producers use them."""

    replicas: ReplicaAdmin
    """Masters and their slaves: how far they are, and who is which."""

    kv: KvAdmin
    """Values that name servers hold."""

    users: UserAdmin
    """Users of servers that check who asks."""

    policies: PolicyAdmin
    """What these users may do."""

    def __init__(
        self,
        *,
        nameserver: str = "",
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        rpc_hooks: Sequence[object] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        super().__init__(
            AsyncAdmin(nameserver=nameserver, client=client, net=net, rpc_hooks=rpc_hooks, plugins=plugins),
            "admin",
        )
        self.topics = TopicAdmin(self, self._client.topics)
        self.queue_expansion = QueueExpansionAdmin(self, self._client.queue_expansion)
        self.topic_moves = TopicMoveAdmin(self, self._client.topic_moves)
        self.groups = GroupAdmin(self, self._client.groups)
        self.members = MemberAdmin(self, self._client.members)
        self.allocation = AllocationAdmin(self, self._client.allocation)
        self.offsets = OffsetAdmin(self, self._client.offsets)
        self.messages = MessageAdmin(self, self._client.messages)
        self.dead_letters = DeadLetterAdmin(self, self._client.dead_letters)
        self.cluster = ClusterAdmin(self, self._client.cluster)
        self.brokers = BrokerAdmin(self, self._client.brokers)
        self.replicas = ReplicaAdmin(self, self._client.replicas)
        self.kv = KvAdmin(self, self._client.kv)
        self.users = UserAdmin(self, self._client.users)
        self.policies = PolicyAdmin(self, self._client.policies)

    def start(self) -> None:
        """Begin to work: connections open when something is asked. Raises `ClosedError` once stopped."""
        super().start()

    def stop(self) -> None:
        """Close all connections."""
        super().stop()
