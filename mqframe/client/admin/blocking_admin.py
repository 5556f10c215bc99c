"""Admin: `AsyncAdmin` for plain threads.

Generated from mqframe.client.admin.admin, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from mqframe.client.admin.admin import AsyncAdmin
from mqframe.client.admin.dead_letters import Resent
from mqframe.client.connection.sync_api import SyncClient
from mqframe.client.consuming.group.allocation import DEFAULT
from mqframe.client.settings import ClientSettings
from mqframe.core.access.bodies import AclInfo, UserInfo
from mqframe.core.cluster.broker_info import BrokerStatsData, ConsumeStatsList, QueueEntries, QueueTimeSpan
from mqframe.core.cluster.client_bodies import ConsumerConnection, ProducerConnection
from mqframe.core.cluster.queue_expansion import QueueExpansion
from mqframe.core.cluster.route_bodies import ClusterInfo, TopicRouteData
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe.core.consuming.allocation_plan import AllocationPlan
from mqframe.core.consuming.bodies import OffsetWrapper, TopicOffset
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.consuming.running_info import ConsumerRunningInfo, DirectResult
from mqframe.core.measuring.trace import TraceRecord
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import TRACE_TOPIC
from mqframe.core.popping.bodies import RequestModeBody
from mqframe.core.replication.replica import ForcedElection, Replica, RoleChanged
from mqframe.core.requests.fields import Request
from mqframe.core.retry.dead_letters import END_OF_TIME, DeadLetter, ResendTo
from mqframe.core.wire.frame import Frame
from mqframe.hooks.manager import PluginManager
from mqframe.net.settings import NetSettings


class Admin(SyncClient[AsyncAdmin]):
    """Topics, groups, offsets, messages, brokers and name servers of a cluster.

        with Admin(nameserver="127.0.0.1:9876") as admin:
            admin.create_topic("orders", queues=4)

    `nameserver`: "host:port;host:port", by default what the variable NAMESRV_ADDR holds. Methods raise
    `AnswerError` with the code of a broker that refused, and a `RetryError` when one could not be reached.

    The work is done on a loop in a thread of its own; any thread may call any method. After a
    fork every method raises `ClosedError`.
    """

    _section = "admin"

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

    def cluster_info(self) -> ClusterInfo:
        """All brokers with their addresses, and which belong to which cluster."""
        return self._call(self._client.cluster_info)

    def masters(self, *, cluster: str | None = None, broker: str | None = None) -> dict[str, str]:
        """Addresses of masters by broker name: all, those of `cluster`, or that of `broker`.

        Raises `FixError` when there is none.
        """
        return self._call(self._client.masters, cluster=cluster, broker=broker)

    def call_broker(self, broker: str, request: Request, body: bytes = b"") -> Frame:
        """The answer of the master of the broker named `broker` to any request, those of plugins included.

        Raises `FixError` when no such broker is registered, `AnswerError` when it refused.
        """
        return self._call(self._client.call_broker, broker, request, body)

    def create_user(self, name: str, secret: str, *, everything: bool = False, server: str = "") -> None:
        """Make a user; `everything`: who may do everything, whatever policies say."""
        self._call(self._client.create_user, name, secret, everything=everything, server=server)

    def update_user(
        self,
        name: str,
        *,
        secret: str | None = None,
        everything: bool | None = None,
        enabled: bool | None = None,
        server: str = "",
    ) -> None:
        """Change what is given of a user. Who is not enabled is refused like one that is not known."""
        self._call(
            self._client.update_user,
            name,
            secret=secret,
            everything=everything,
            enabled=enabled,
            server=server,
        )

    def delete_user(self, name: str, *, server: str = "") -> None:
        """Delete a user with all policies."""
        self._call(self._client.delete_user, name, server=server)

    def users(self, contains: str = "", *, server: str = "") -> list[UserInfo]:
        """The users whose names contain `contains`, sorted; secrets only for one who may do everything."""
        return self._call(self._client.users, contains, server=server)

    def check_keys(self, *, server: str = "") -> None:
        """Return when `server`, by default the first master, knows who signs the requests of this client.

        What that user may do does not matter. Raises `AccessError` for keys that are not right. Who does not
        sign at all is known to servers that check nobody.
        """
        self._call(self._client.check_keys, server=server)

    def set_policy(
        self,
        user: str,
        resources: Iterable[str],
        *,
        actions: Sequence[str] = ("All",),
        allow: bool = True,
        sources: Sequence[str] = (),
        server: str = "",
    ) -> None:
        """Say what `user` may do, or may not, with each of `resources`, in the place of what was said of it.

        `resources`: "Topic:orders", "Topic:ord*", "Group:*", "Cluster:…" or "*"; `actions`: All, Pub, Sub,
        Create, Update, Delete, Get, List; `sources`: addresses or networks that this is for.
        """
        self._call(
            self._client.set_policy,
            user,
            tuple(resources),
            actions=actions,
            allow=allow,
            sources=sources,
            server=server,
        )

    def remove_policy(self, user: str, resource: str | None = None, *, server: str = "") -> None:
        """Take what is said of `resource` from `user`; by default everything."""
        self._call(self._client.remove_policy, user, resource, server=server)

    def policies(self, user: str = "", *, resource: str = "", server: str = "") -> list[AclInfo]:
        """Policies of users whose names begin with `user`, those whose resource contains `resource`."""
        return self._call(self._client.policies, user, resource=resource, server=server)

    def broker_runtime(self, address: str) -> dict[str, str]:
        """Counters and rates of the broker at `address`."""
        return self._call(self._client.broker_runtime, address)

    def broker_config(self, address: str) -> dict[str, str]:
        """Settings of the broker at `address`."""
        return self._call(self._client.broker_config, address)

    def broker_config_origins(self, address: str) -> dict[str, str] | None:
        """Where the settings of the broker at `address` that are no defaults come from, by key.

        `None` for one that does not tell, as Apache RocketMQ's.
        """
        return self._call(self._client.broker_config_origins, address)

    def update_broker_config(self, address: str, values: Mapping[str, str]) -> None:
        """Change settings of the running broker at `address`. Raises `FixError`, `AnswerError`."""
        self._call(self._client.update_broker_config, address, values)

    def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Store a value in all name servers."""
        self._call(self._client.put_kv, namespace, key, value)

    def get_kv(self, namespace: str, key: str) -> str | None:
        """A value that a name server holds, or `None`."""
        return self._call(self._client.get_kv, namespace, key)

    def delete_kv(self, namespace: str, key: str) -> None:
        """Remove a value from all name servers."""
        self._call(self._client.delete_kv, namespace, key)

    def list_kv(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; empty when there are none."""
        return self._call(self._client.list_kv, namespace)

    def wipe_write_permission(self, broker: str) -> int:
        """Have producers leave `broker`; returns how many of its topics changed, at the last name server."""
        return self._call(self._client.wipe_write_permission, broker)

    def add_write_permission(self, broker: str) -> int:
        """Let producers use `broker` again; returns the count as `wipe_write_permission`."""
        return self._call(self._client.add_write_permission, broker)

    def replicas(self, broker: str | None = None) -> list[Replica]:
        """All brokers by name and id, or those of the name `broker`; masters before their slaves.

        One that does not answer says so in its `trouble`. Raises `FixError` when none is registered.
        """
        return self._call(self._client.replicas, broker)

    def demote(
        self,
        broker: str,
        broker_id: int,
        *,
        wait_seconds: float = 30.0,
        tables_seconds: float = 0.0,
        force: bool = False,
    ) -> RoleChanged:
        """Let the master of the name `broker` become a slave with the number `broker_id`, 1 or more.

        It takes no more messages, waits until a slave has its whole log, at most `wait_seconds`, and this
        returns when it is a slave; `ready` are those to promote. `tables_seconds`: for so long it waits
        before, while it takes messages, until slaves have copied tables, which ours need not. `force`:
        whatever stands against it. Raises `FixError` when no master is registered, `AnswerError`
        where the broker stays master, `GiveUpError` when it could not change.
        """
        return self._call(
            self._client.demote,
            broker,
            broker_id,
            wait_seconds=wait_seconds,
            tables_seconds=tables_seconds,
            force=force,
        )

    def promote(
        self, broker: str, broker_id: int, *, role: str = "ASYNC_MASTER", force: bool = False
    ) -> RoleChanged:
        """Let the slave of the name `broker` with the number `broker_id` become its master, in `role`.

        Only where there is no other master, none of the other brokers of that name has more of the log, and
        tables are copied; `force`: whatever stands against it, and `objections` say what that was. Returns
        when it is master. Raises as `demote`.
        """
        return self._call(self._client.promote, broker, broker_id, role=role, force=force)

    def force_election(self, broker: str, broker_id: int, *, accept_loss: bool = False) -> ForcedElection:
        """Have the follower `broker_id` of the elected group `broker` lead with what it has.

        For a group whose brokers in sync are gone for good: what was acknowledged, and is not in its log, is
        lost. Without `accept_loss` nothing is changed, and the answer says what that would be. Raises
        `FixError` when no such follower is registered, `AnswerError` where a leader is there, or force is not
        needed.
        """
        return self._call(self._client.force_election, broker, broker_id, accept_loss=accept_loss)

    def log_range(self, address: str) -> tuple[int, int]:
        """Where the log of the broker at `address` begins and ends, bytes. Raises `BadAnswer`."""
        return self._call(self._client.log_range, address)

    def stored_record(self, address: str, offset: int) -> bytes | None:
        """What the broker at `address` stores as a record at log `offset`, bytes as they lie there.

        `None` where it finds none; bytes that are no record where none begins there.
        """
        return self._call(self._client.stored_record, address, offset)

    def reset_offsets(
        self, group: str, topic: str, timestamp_ms: int | datetime = -1, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """Set the offsets of `group` to the first messages stored at or after a time; -1: to the end.

        `timestamp_ms`: since 1970, or a datetime with its zone. Members that run go on from there at once; a
        group that is offline will. Without `force` an offset is only moved back. Returns the new offsets.
        Raises `FixError` for a time that is none of these.
        """
        return self._call(self._client.reset_offsets, group, topic, timestamp_ms, force=force)

    def skip_messages(self, group: str, topic: str) -> dict[MessageQueue, int]:
        """Have `group` go on at the end of each queue of `topic`, whatever lies before. The new offsets."""
        return self._call(self._client.skip_messages, group, topic)

    def reset_queue_offset(self, group: str, queue: MessageQueue, offset: int) -> int:
        """Set the offset of `group` in one queue, and no other. Returns the new one.

        Apache RocketMQ resets one queue from 5.2.0 on (BrokerConfig.java, `useServerSideResetOffset`); a
        broker before it would reset them all. There the offset is committed in place of the group, which must
        have no member online. Raises `FixError` where one is, `AnswerError` or `FixError` for an offset
        outside of the queue and for a group that the broker does not know.
        """
        return self._call(self._client.reset_queue_offset, group, queue, offset)

    def clone_offsets(
        self, source: str, target: str, topic: str | None = None, *, offline: bool = False
    ) -> None:
        """Give the group `target` the offsets of `source`, of all its topics or of `topic`.

        `offline`: also of topics that the members of `source` do not subscribe any more. Raises `AnswerError`
        when no broker has offsets of `source`.
        """
        self._call(self._client.clone_offsets, source, target, topic, offline=offline)

    def correction_offsets(
        self, topic: str, compared: str, without: Sequence[str] = ()
    ) -> dict[MessageQueue, int]:
        """The smallest offset in each queue of any group but those in `without`.

        Where the group `compared` is behind it, the largest 64-bit number.
        """
        return self._call(self._client.correction_offsets, topic, compared, without)

    def consume_time_spans(self, group: str, topic: str) -> list[QueueTimeSpan]:
        """For each queue: when its oldest, its newest and the last consumed message were stored."""
        return self._call(self._client.consume_time_spans, group, topic)

    def queue_entries(
        self, queue: MessageQueue, index: int, count: int = 32, *, group: str | None = None
    ) -> QueueEntries:
        """Up to `count` entries of `queue` from `index` on, as stored, and which `group` would get."""
        return self._call(self._client.queue_entries, queue, index, count, group=group)

    def message_by_id(self, offset_message_id: str, topic: str | None = None) -> ReceivedMessage:
        """The message with a broker's id (`SendResult.offset_message_id`), which names broker and place.

        Raises `FixError` for what is no such id, `AnswerError` when there is no message.
        """
        return self._call(self._client.message_by_id, offset_message_id, topic)

    def message_by_unique_key(self, topic: str, unique_key: str) -> ReceivedMessage | None:
        """The message with a sender's id (`SendResult.message_id`); `None` when there is none.

        Of several copies, such as retries make, the newest.
        """
        return self._call(self._client.message_by_unique_key, topic, unique_key)

    def query_messages(
        self,
        topic: str,
        key: str,
        *,
        max_count: int = 64,
        begin_ms: int | datetime = 0,
        end_ms: int | datetime = END_OF_TIME,
    ) -> list[ReceivedMessage]:
        """Messages of `topic` with `key`, stored between two times, newest first, of all brokers.

        `begin_ms`, `end_ms`: since 1970, or datetimes with their zones. Raises `FixError` for other ones.
        """
        return self._call(
            self._client.query_messages, topic, key, max_count=max_count, begin_ms=begin_ms, end_ms=end_ms
        )

    def resume_transaction(self, offset_message_id: str) -> None:
        """Have a half message checked again from the beginning: one that is open, or was discarded.

        `offset_message_id`: of the half, or of what lies in TRANS_CHECK_MAX_TIME_TOPIC. Raises `FixError` for
        what is no such id, `AnswerError` for what is no half message, and when its transaction has ended.
        """
        self._call(self._client.resume_transaction, offset_message_id)

    def create_group(
        self, group: str | SubscriptionGroupConfig, *, cluster: str | None = None, broker: str | None = None
    ) -> None:
        """Create or change a consumer group, given by name or with its whole configuration."""
        self._call(self._client.create_group, group, cluster=cluster, broker=broker)

    def delete_group(self, group: str, *, clean_offsets: bool = False) -> None:
        """Delete a consumer group on all masters; its progress too with `clean_offsets`."""
        self._call(self._client.delete_group, group, clean_offsets=clean_offsets)

    def group_configs(self) -> dict[str, SubscriptionGroupConfig]:
        """The configuration of all consumer groups by name, sorted."""
        return self._call(self._client.group_configs)

    def list_groups(self) -> list[str]:
        """Names of all consumer groups, sorted."""
        return self._call(self._client.list_groups)

    def consumer_connections(self, group: str) -> ConsumerConnection:
        """Members of a consumer group and their subscriptions; no members when nobody is online."""
        return self._call(self._client.consumer_connections, group)

    def producer_connections(self, group: str) -> ProducerConnection:
        """Members of a producer group; none when nobody is online."""
        return self._call(self._client.producer_connections, group)

    def consume_stats(self, group: str, topic: str | None = None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in each queue, of all its topics or of `topic`; the lag is broker - consumer."""
        return self._call(self._client.consume_stats, group, topic)

    def lag(self, group: str, topic: str | None = None) -> int:
        """How many messages `group` has still to consume, of all its topics or of `topic`.

        Raises `RouteError` for a topic, and `FixError` for a group that no broker knows: neither by its
        configuration nor by progress or members.
        """
        return self._call(self._client.lag, group, topic)

    def min_offset(self, queue: MessageQueue) -> int:
        """The oldest offset of `queue` that can still be read."""
        return self._call(self._client.min_offset, queue)

    def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        return self._call(self._client.max_offset, queue)

    def search_offset(self, queue: MessageQueue, timestamp_ms: int | datetime, *, upper: bool = False) -> int:
        """The offset of the first (`upper`: last) message of `queue` stored at a time, or next to it.

        `timestamp_ms`: since 1970, or a datetime with its zone. Raises `FixError` for another one.
        """
        return self._call(self._client.search_offset, queue, timestamp_ms, upper=upper)

    def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of `queue` was stored, ms."""
        return self._call(self._client.earliest_store_time, queue)

    def set_request_mode(self, group: str, topic: str, mode: str, *, share: int = 0) -> None:
        """Let members of `group` read `topic` by PULL or POP from their next rebalance on.

        `share`: how many further members each shares its popped queues with; 0: with all. Sent to all
        masters that have the topic. Raises `FixError` for another mode, a topic that no broker has, or a
        group that one does not know.
        """
        self._call(self._client.set_request_mode, group, topic, mode, share=share)

    def request_modes(self, group: str | None = None) -> list[RequestModeBody]:
        """All modes that were set, or those of `group`, by topic and group; PULL where nothing was set."""
        return self._call(self._client.request_modes, group)

    def running_info(self, group: str, client_id: str, *, stacks: bool = False) -> ConsumerRunningInfo:
        """What one member holds, counts and is set to; with `stacks` also what its threads do.

        Raises `AnswerError` when it is not online or does not answer.
        """
        return self._call(self._client.running_info, group, client_id, stacks=stacks)

    def remembered_offsets(
        self, group: str, topic: str, client_id: str = ""
    ) -> dict[str, dict[MessageQueue, int]]:
        """The offsets that members have in memory, by client id; of all, or of one."""
        return self._call(self._client.remembered_offsets, group, topic, client_id)

    def consume_directly(
        self, group: str, offset_message_id: str, *, client_id: str | None = None
    ) -> DirectResult:
        """Have a member of `group` consume a stored message now; nothing is committed.

        `offset_message_id`: the broker's id (`ReceivedMessage.offset_message_id`); `client_id`: which member,
        by default any. Raises `FixError` when nobody is online, `AnswerError` when the member is not.
        """
        return self._call(self._client.consume_directly, group, offset_message_id, client_id=client_id)

    def broker_statistic(self, address: str, name: str, key: str) -> BrokerStatsData | None:
        """One count of the broker at `address` over a minute, an hour, a day; `None` when there is none.

        `name`: such as TOPIC_PUT_NUMS or GROUP_GET_NUMS; `key`: a topic, or "topic@group".
        """
        return self._call(self._client.broker_statistic, address, name, key)

    def broker_progress(self, address: str, *, ordered_only: bool = False) -> ConsumeStatsList:
        """How far all groups of the broker at `address` are, topic by topic."""
        return self._call(self._client.broker_progress, address, ordered_only=ordered_only)

    def group_readable(self, group: str, topic: str, readable: bool | None = None) -> bool:
        """Whether `group` may read `topic` on all its brokers; set first when `readable` is given."""
        return self._call(self._client.group_readable, group, topic, readable)

    def message_trace(
        self, message_id: str, *, trace_topic: str = TRACE_TOPIC, max_count: int = 64
    ) -> list[TraceRecord]:
        """What is known of a message's way: who sent and who consumed it, oldest first.

        `message_id`: the sender's id (`SendResult.message_id`). Empty when nobody traced it.
        """
        return self._call(
            self._client.message_trace, message_id, trace_topic=trace_topic, max_count=max_count
        )

    def allocation_plan(
        self,
        group: str,
        allocate: object = DEFAULT,
        options: object = None,
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
    ) -> AllocationPlan:
        """What would move if all members of `group` had the allocation strategy `allocate`. Changes nothing.

        `allocate`, `options`: as for consumers; the strategy is made and runs here. `add`, `remove`: client
        ids of members that come and go as well. Each member is asked what it holds, Java ones too; one that
        does not answer is in `AllocationPlan.silent`. Raises `FixError` for a group that is unknown, whose
        members are offline or broadcast, and for a strategy that fails; `PluginError` for a wrong one.
        """
        return self._call(self._client.allocation_plan, group, allocate, options, add=add, remove=remove)

    def create_topic(
        self,
        topic: str,
        *,
        queues: int = 8,
        read_queues: int | None = None,
        write_queues: int | None = None,
        perm: int = PERM_READ | PERM_WRITE,
        order: bool = False,
        attributes: Mapping[str, str] | None = None,
        cluster: str | None = None,
        broker: str | None = None,
    ) -> None:
        """Create `topic`, or change it, on all masters, on those of `cluster`, or on `broker`.

        `queues` on each broker; `read_queues` is what consumers see of them, `write_queues` what producers
        see. `perm`: 4 read, 2 write. `order`: mark it as ordered, with a fixed queue list in the name servers
        (used where they are set to: `orderMessageEnable`). `attributes`: those to set, such as
        `{"message.type": "FIFO"}`; `"+message.type"` is the same, `"-message.type"` takes one away. Raises
        `MessageError` for an illegal name, `AnswerError`. A name server that a broker did not reach in time
        hears of it later; the log (`mqframe.client`) says which.
        """
        self._call(
            self._client.create_topic,
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

    def order_config(self, topic: str) -> dict[str, int]:
        """The fixed queue list of an ordered topic that operators made: queues by broker name, or nothing."""
        return self._call(self._client.order_config, topic)

    def set_order_config(self, topic: str, queues: Mapping[str, int]) -> None:
        """Give `topic` another fixed queue list in all name servers; without `queues` it has none."""
        self._call(self._client.set_order_config, topic, queues)

    def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete `topic` and its messages on all masters, or those of `cluster`, and from name servers."""
        self._call(self._client.delete_topic, topic, cluster=cluster)

    def list_topics(self) -> list[str]:
        """All topics that brokers registered, sorted."""
        return self._call(self._client.list_topics)

    def topic_config(self, topic: str) -> dict[str, TopicConfig]:
        """The configuration of `topic` by broker name. Raises `RouteError` when nobody has it."""
        return self._call(self._client.topic_config, topic)

    def topic_route(self, topic: str) -> TopicRouteData:
        """Brokers and queues of `topic`. Raises `AnswerError` (17) when it does not exist."""
        return self._call(self._client.topic_route, topic)

    def topic_stats(self, topic: str) -> dict[MessageQueue, TopicOffset]:
        """Offsets of each queue of `topic`, and when something was stored there last."""
        return self._call(self._client.topic_stats, topic)

    def groups_of_topic(self, topic: str) -> list[str]:
        """Consumer groups that subscribe `topic` or have offsets in it, sorted.

        Of brokers of Apache RocketMQ 5.x only those with offsets, which a new group has some seconds after it
        began.
        """
        return self._call(self._client.groups_of_topic, topic)

    def begin_queue_expansion(self, topic: str, queues: int) -> QueueExpansion:
        """Give `topic` `queues` queues on each of its brokers that producers see, and consumers not yet.

        The fixed queue list of the topic, where an operator made one, grows along. Producers know of it with
        their next look at the route (30 s). Begun before, it goes on. Raises `FixError` when the topic would
        shrink, or a broker of its fixed list is away.
        """
        return self._call(self._client.begin_queue_expansion, topic, queues)

    def mark_queue_expansion(self, expansion: QueueExpansion) -> QueueExpansion:
        """Note where the old queues end. To be called when all producers know the new queues."""
        return self._call(self._client.mark_queue_expansion, expansion)

    def queue_expansion_left(
        self, expansion: QueueExpansion, groups: Sequence[str] | None = None
    ) -> dict[str, int]:
        """Messages in the old queues that each group has yet to consume; `groups`: all of the topic."""
        return self._call(self._client.queue_expansion_left, expansion, groups)

    def finish_queue_expansion(
        self, expansion: QueueExpansion, groups: Sequence[str] | None = None, *, force: bool = False
    ) -> None:
        """Let consumers see the new queues. Raises `FixError` while the old ones have not drained, unless
        `force`.
        """
        self._call(self._client.finish_queue_expansion, expansion, groups, force=force)

    def open_dead_letters(self, group: str) -> list[str]:
        """Let the dead letters of `group` be read: permission 6. The brokers on which that was a change."""
        return self._call(self._client.open_dead_letters, group)

    def close_dead_letters(self, group: str) -> list[str]:
        """Have the dead letters of `group` only written again. The brokers on which that was a change."""
        return self._call(self._client.close_dead_letters, group)

    def dead_letters(
        self,
        group: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        topic: str | None = None,
        begin_ms: int | datetime = 0,
        end_ms: int | datetime = END_OF_TIME,
        max_count: int = 1000,
    ) -> list[DeadLetter]:
        """The dead letters of `group`, the oldest first, `max_count` at most.

        `key`: one of the keys, the sender's or the broker's id; `topic`: the original one; `begin_ms`,
        `end_ms`: when they were given up, ms since 1970 or datetimes with their zones, both included. Empty
        where the group never gave a message up. Raises `FixError` while the topic may not be read, and for
        times that are none of these.
        """
        return self._call(
            self._client.dead_letters,
            group,
            key=key,
            tag=tag,
            topic=topic,
            begin_ms=begin_ms,
            end_ms=end_ms,
            max_count=max_count,
        )

    def dead_letter(self, group: str, message_id: str) -> DeadLetter | None:
        """The dead letter of `group` with a sender's id, the newest where there are several, or with a
        broker's id; `None` when there is none. Whether the topic may be read makes no difference.
        """
        return self._call(self._client.dead_letter, group, message_id)

    def resend_dead_letters(
        self, letters: Iterable[DeadLetter], *, to: ResendTo | str = ResendTo.GROUP, again: bool = False
    ) -> list[Resent]:
        """Send copies of `letters`, one after the other, with the count of their returns at 0 again.

        `to`: "group" (only the group that gave them up gets them) or "topic" (whoever subscribes their
        original topic does). The dead letters stay where they are. One of which a copy was sent before is
        left out unless `again`: copies carry a mark, and are looked for by the unique key. That holds over
        restarts and between operators, but not for two who send the same one in the same moment.

        Raises what a send raises; whatever was sent until then is found by the next call and left out. Raises
        `FixError` for "group" when the group consumes in order: brokers take such copies for failures.
        """
        return self._call(self._client.resend_dead_letters, tuple(letters), to=to, again=again)

    def start(self) -> None:
        """Begin to work: connections open when something is asked. Raises `ClosedError` once stopped."""
        super().start()

    def stop(self) -> None:
        """Close all connections."""
        super().stop()
