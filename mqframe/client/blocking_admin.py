"""Administration for plain threads."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from mqframe.client.admin import AsyncAdmin
from mqframe.client.blocking_dead_letters import BlockingDeadLetters
from mqframe.client.blocking_growth import BlockingGrowth
from mqframe.client.blocking_insight import BlockingInsight
from mqframe.client.blocking_modes import BlockingModes
from mqframe.client.identity import nameserver_text, with_nameserver
from mqframe.client.loop_thread import LoopThread
from mqframe.client.settings import ClientSettings
from mqframe.core.bodies import (
    ClusterInfo,
    ConsumerConnection,
    OffsetWrapper,
    ProducerConnection,
    SubscriptionGroupConfig,
    TopicConfig,
    TopicOffset,
    TopicRouteData,
)
from mqframe.core.errors import ClosedError
from mqframe.core.message import MessageQueue, ReceivedMessage
from mqframe.core.name_servers import parse_addresses
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings

T = TypeVar("T")


class Admin(BlockingInsight, BlockingGrowth, BlockingDeadLetters, BlockingModes):
    """Topics, groups, offsets, messages, brokers and name servers of a cluster.

        with Admin(nameserver="127.0.0.1:9876") as admin:
            admin.create_topic("orders", queues=4)

    Arguments, methods and errors are those of `AsyncAdmin`. May be used by several threads.
    """

    def __init__(
        self,
        *,
        nameserver: str = "",
        client: ClientSettings | None = None,
        net: NetSettings | None = None,
        rpc_hooks: Sequence[object] = (),
        plugins: PluginManager | None = None,
    ) -> None:
        self._settings = with_nameserver(client, nameserver)
        parse_addresses(nameserver_text(self._settings))  # a wrong address shows at once
        self._net = net
        self._rpc_hooks = rpc_hooks
        self._plugins = plugins
        self._thread: LoopThread | None = None
        self._made: AsyncAdmin | None = None

    def start(self) -> None:
        """Start the thread that does the work; without effect when it runs."""
        if self._thread is None:
            thread = LoopThread("mqframe-admin")
            self._made = thread.call(self._make())
            self._thread = thread

    def stop(self) -> None:
        """Close all connections and end the thread."""
        if self._thread is not None and self._made is not None:
            self._thread.call(self._made.stop())
            self._thread.stop()
            self._thread = None

    def __enter__(self) -> Admin:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _make(self) -> AsyncAdmin:
        return AsyncAdmin(
            client=self._settings, net=self._net, rpc_hooks=self._rpc_hooks, plugins=self._plugins
        )

    @property
    def _admin(self) -> AsyncAdmin:
        if self._made is None:
            raise ClosedError("the admin was not started; use it in a with block, or call start()")
        return self._made

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if self._thread is None:
            work.close()
            raise ClosedError("the admin was stopped; make a new one")
        return self._thread.call(work)

    # Whom to ask

    def cluster_info(self) -> ClusterInfo:
        """All brokers with their addresses, and which belong to which cluster."""
        return self._do(self._admin.cluster_info())

    def masters(self, *, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Addresses of masters by broker name: all, those of `cluster`, or that of `broker`."""
        return self._do(self._admin.masters(cluster=cluster, broker=broker))

    # Topics

    def create_topic(
        self,
        topic: str,
        *,
        queues: int = 8,
        read_queues: int | None = None,
        write_queues: int | None = None,
        perm: int = 6,
        order: bool = False,
        attributes: Mapping[str, str] | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> None:
        """Create `topic`, or change it, on all masters, on those of `cluster`, or on `broker`."""
        return self._do(
            self._admin.create_topic(
                topic,
                queues=queues,
                read_queues=read_queues,
                write_queues=write_queues,
                perm=perm,
                order=order,
                attributes=attributes,
                cluster=cluster,
                broker=broker,
            )
        )

    def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete `topic` and its messages on all masters, or those of `cluster`, and from name servers."""
        return self._do(self._admin.delete_topic(topic, cluster=cluster))

    def list_topics(self) -> list[str]:
        """All topics that brokers told of, sorted."""
        return self._do(self._admin.list_topics())

    def topic_config(self, topic: str) -> dict[str, TopicConfig]:
        """The configuration of `topic` by broker name. Raises `RouteError` when nobody has it."""
        return self._do(self._admin.topic_config(topic))

    def topic_route(self, topic: str) -> TopicRouteData:
        """Brokers and queues of `topic`. Raises `AnswerError` (17) when it does not exist."""
        return self._do(self._admin.topic_route(topic))

    def topic_stats(self, topic: str) -> dict[MessageQueue, TopicOffset]:
        """Offsets of each queue of `topic`, and when something was stored there last."""
        return self._do(self._admin.topic_stats(topic))

    def groups_of_topic(self, topic: str) -> list[str]:
        """Consumer groups that subscribe `topic` or have offsets in it, sorted."""
        return self._do(self._admin.groups_of_topic(topic))

    # Groups and offsets

    def create_group(
        self, group: str | SubscriptionGroupConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> None:
        """Create or change a consumer group, given by name or with its whole configuration."""
        return self._do(self._admin.create_group(group, cluster=cluster, broker=broker))

    def delete_group(self, group: str, *, clean_offsets: bool = False) -> None:
        """Delete a consumer group on all masters; its progress too with `clean_offsets`."""
        return self._do(self._admin.delete_group(group, clean_offsets=clean_offsets))

    def group_configs(self) -> dict[str, SubscriptionGroupConfig]:
        """The configuration of all consumer groups by name, sorted."""
        return self._do(self._admin.group_configs())

    def list_groups(self) -> list[str]:
        """Names of all consumer groups, sorted."""
        return self._do(self._admin.list_groups())

    def consumer_connections(self, group: str) -> ConsumerConnection:
        """Members of a consumer group and their subscriptions; no members when nobody is online."""
        return self._do(self._admin.consumer_connections(group))

    def producer_connections(self, group: str) -> ProducerConnection:
        """Members of a producer group; none when nobody is online."""
        return self._do(self._admin.producer_connections(group))

    def consume_stats(self, group: str, topic: str | None = None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in each queue, of all its topics or of `topic`; the lag is broker - consumer."""
        return self._do(self._admin.consume_stats(group, topic))

    def lag(self, group: str, topic: str | None = None) -> int:
        """How many messages `group` has still to consume."""
        return self._do(self._admin.lag(group, topic))

    def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset of `queue` that can still be read."""
        return self._do(self._admin.min_offset(queue))

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        return self._do(self._admin.max_offset(queue))

    def search_offset(self, queue: MessageQueue, timestamp_ms: int, *, upper: bool = False) -> int:
        """The offset of the first (`upper`: last) message of `queue` stored at a time, or next to it."""
        return self._do(self._admin.search_offset(queue, timestamp_ms, upper=upper))

    def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of `queue` was stored, ms."""
        return self._do(self._admin.earliest_store_time(queue))

    # Messages

    def message_by_id(self, offset_message_id: str, topic: str | None = None) -> ReceivedMessage:
        """The message with a broker's id (`SendResult.offset_message_id`), which names broker and place."""
        return self._do(self._admin.message_by_id(offset_message_id, topic))

    def message_by_unique_key(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        """The message with a sender's id (`SendResult.message_id`); `None` when there is none."""
        return self._do(self._admin.message_by_unique_key(topic, unique_key))

    def resume_transaction(self, offset_message_id: str) -> None:
        """Have a half message checked again from the beginning: one that is open, or was discarded."""
        self._do(self._admin.resume_transaction(offset_message_id))

    def query_messages(
        self, topic: str, key: str, *, max_count: int = 64, begin_ms: int = 0, end_ms: int = 2**63 - 1
    ) -> list[ReceivedMessage]:
        """Messages of `topic` with `key`, stored between two times (ms), newest first, of all brokers."""
        return self._do(
            self._admin.query_messages(topic, key, max_count=max_count, begin_ms=begin_ms, end_ms=end_ms)
        )

    # Brokers and name servers

    def broker_runtime(self, address: str) -> dict[str, str]:
        """Counters and rates of the broker at `address`."""
        return self._do(self._admin.broker_runtime(address))

    def broker_config(self, address: str) -> dict[str, str]:
        """Settings of the broker at `address`."""
        return self._do(self._admin.broker_config(address))

    def update_broker_config(self, address: str, values: Mapping[str, str]) -> None:
        """Change settings of the running broker at `address`. Raises `FixError`, `AnswerError`."""
        return self._do(self._admin.update_broker_config(address, values))

    def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Store a value in all name servers."""
        return self._do(self._admin.put_kv(namespace, key, value))

    def get_kv(self, namespace: str, key: str) -> str | None:
        """A value that a name server holds, or `None`."""
        return self._do(self._admin.get_kv(namespace, key))

    def delete_kv(self, namespace: str, key: str) -> None:
        """Remove a value from all name servers."""
        return self._do(self._admin.delete_kv(namespace, key))

    def list_kv(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; empty when there are none."""
        return self._do(self._admin.list_kv(namespace))

    def wipe_write_permission(self, broker: str) -> int:
        """Have producers leave `broker`; tells how many of its topics changed, at the last name server."""
        return self._do(self._admin.wipe_write_permission(broker))

    def add_write_permission(self, broker: str) -> int:
        """Let producers use `broker` again; tells how many of its topics changed, at the last name server."""
        return self._do(self._admin.add_write_permission(broker))
