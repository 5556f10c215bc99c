"""JSON bodies of requests and answers, and the objects in `config/*.json` (wire.md §4, store.md §5).

Fields are declared in the alphabetical order in which the reference writes them. Maps keyed by message queue
have `MessageQueue` keys (`mqframe.core.loosejson` reads and writes them as Java does).
"""

from __future__ import annotations

from typing import Any

import msgspec

from mqframe.core.message import MessageQueue


class Body(msgspec.Struct, rename="camel"):
    """A JSON object with camel-case names. Unknown names are ignored."""


class DataVersion(Body):
    """Version of a table: changed when the table changes. `timestamp` in ms."""

    counter: int = 0
    state_version: int = 0
    timestamp: int = 0


class BrokerData(Body):
    """A broker name and its members' addresses by id (0: the master)."""

    broker_name: str
    broker_addrs: dict[int, str] = {}
    cluster: str = ""
    enable_acting_master: bool = False
    zone_name: str | None = None


class QueueData(Body):
    """How many queues a topic has on a broker, and what may be done with them."""

    broker_name: str
    perm: int
    read_queue_nums: int
    write_queue_nums: int
    topic_sys_flag: int | None = None
    topic_syn_flag: int | None = None  # the spelling of peers before 4.9.0


class TopicRouteData(Body):
    """Where a topic lives."""

    broker_datas: list[BrokerData] = []
    filter_server_table: dict[str, list[str]] = {}
    order_topic_conf: str | None = None
    queue_datas: list[QueueData] = []
    topic_queue_mapping_by_broker: dict[str, Any] | None = None


class ClusterInfo(Body):
    """All brokers, and the broker names of each cluster."""

    broker_addr_table: dict[str, BrokerData] = {}
    cluster_addr_table: dict[str, list[str]] = {}


class TopicList(Body):
    """Topic names."""

    broker_addr: str | None = None
    topic_list: list[str] = []


class GroupList(Body):
    """Group names."""

    group_list: list[str] = []


class KVTable(Body):
    """Names and values."""

    table: dict[str, str] = {}


class MemberGroup(Body):
    """The members of one broker name."""

    broker_name: str
    broker_addrs: dict[int, str] = {}
    cluster: str = ""


class MemberGroupBody(Body):
    """A member group, wrapped as the reference wraps it."""

    broker_member_group: MemberGroup


class TopicConfig(Body):
    """Configuration of one topic on one broker."""

    attributes: dict[str, str] = {}
    order: bool = False
    perm: int = 6
    read_queue_nums: int = 16
    topic_filter_type: str = "SINGLE_TAG"
    topic_name: str | None = None
    topic_sys_flag: int = 0
    write_queue_nums: int = 16


class TopicConfigTable(Body):
    """All topics of a broker: `config/topics.json`, and what a broker registers."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    mapping_data_version: DataVersion | None = None
    topic_config_table: dict[str, TopicConfig] = {}
    topic_queue_mapping_detail_map: dict[str, Any] | None = None
    topic_queue_mapping_info_map: dict[str, Any] | None = None


class TopicConfigList(Body):
    """Several topics at once."""

    topic_config_list: list[TopicConfig] = []


class RegisterBrokerBody(Body):
    """What a broker tells a name server."""

    filter_server_list: list[str] = []
    topic_config_serialize_wrapper: TopicConfigTable = msgspec.field(default_factory=TopicConfigTable)


class CustomizedRetryPolicy(Body):
    """Waits one after the other, ms. The first two are never used (CustomizedRetryPolicy.java)."""

    next: list[int] = []


class ExponentialRetryPolicy(Body):
    """Waits that grow from `initial` by `multiplier` up to `max`, ms."""

    initial: int = 5_000
    max: int = 7_200_000
    multiplier: int = 2


class GroupRetryPolicy(Body):
    """How long a group waits before it tries a message again. `type`: CUSTOMIZED or EXPONENTIAL."""

    type: str = "CUSTOMIZED"
    customized_retry_policy: CustomizedRetryPolicy | None = None
    exponential_retry_policy: ExponentialRetryPolicy | None = None


class SubscriptionGroupConfig(Body):
    """Configuration of one consumer group."""

    group_name: str
    attributes: dict[str, str] = {}
    broker_id: int = 0
    consume_broadcast_enable: bool = True
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_message_orderly: bool = False
    consume_timeout_minute: int = 15
    group_retry_policy: GroupRetryPolicy = msgspec.field(default_factory=GroupRetryPolicy)
    group_sys_flag: int = 0
    notify_consumer_ids_changed_enable: bool = True
    retry_max_times: int = 16
    retry_queue_nums: int = 1
    subscription_data_set: list[dict[str, Any]] | None = None
    which_broker_when_consume_slowly: int = 1


class SubscriptionGroupTable(Body):
    """All groups of a broker: `config/subscriptionGroup.json`."""

    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
    forbidden_table: dict[str, dict[str, int]] = {}
    subscription_group_table: dict[str, SubscriptionGroupConfig] = {}


class GroupConfigList(Body):
    """Several groups at once."""

    group_config_list: list[SubscriptionGroupConfig] = []


class SubscriptionData(Body):
    """What a group wants of a topic. `sub_version` in ms: the newest one counts."""

    topic: str
    class_filter_mode: bool = False
    code_set: list[int] = []
    expression_type: str | None = "TAG"
    sub_string: str | None = "*"
    sub_version: int = 0
    tags_set: list[str] = []


class ConsumerData(Body):
    """One consumer group of a client."""

    group_name: str
    consume_from_where: str | None = "CONSUME_FROM_LAST_OFFSET"
    consume_type: str | None = "CONSUME_PASSIVELY"
    message_model: str | None = "CLUSTERING"
    subscription_data_set: list[SubscriptionData] = []
    unit_mode: bool = False


class ProducerData(Body):
    """One producer group of a client."""

    group_name: str


class HeartbeatData(Body):
    """What a client tells every broker each 30 s."""

    client_id: str = msgspec.field(name="clientID")
    consumer_data_set: list[ConsumerData] = []
    heartbeat_fingerprint: int = 0
    producer_data_set: list[ProducerData] = []
    without_sub: bool = False


class CheckClientBody(Body):
    """A subscription to be looked at."""

    client_id: str | None = None
    group: str | None = None
    namespace: str | None = None
    subscription_data: SubscriptionData | None = None


class ConsumerList(Body):
    """Ids of a group's members."""

    consumer_id_list: list[str] = []


class QueueBody(Body):
    """A message queue as a JSON object."""

    broker_name: str
    queue_id: int
    topic: str

    @classmethod
    def of(cls, queue: MessageQueue) -> QueueBody:
        """The body that stands for `queue`."""
        return cls(topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id)

    @property
    def queue(self) -> MessageQueue:
        """The queue that the body stands for."""
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class LockBody(Body):
    """Queues that a member wants to lock or to give back."""

    client_id: str
    consumer_group: str
    mq_set: list[QueueBody] = []
    only_this_broker: bool = False


class LockAnswerBody(Body):
    """Queues that the member holds now."""

    lock_ok_mq_set: list[QueueBody] = msgspec.field(default_factory=list, name="lockOKMQSet")


class ConnectionBody(Body):
    """One connected client."""

    client_addr: str
    client_id: str
    language: str | None = "JAVA"
    version: int = 0


class ConsumerConnection(Body):
    """A consumer group's members and what they want."""

    connection_set: list[ConnectionBody] = []
    consume_from_where: str | None = None
    consume_type: str | None = None
    message_model: str | None = None
    subscription_table: dict[str, SubscriptionData] = {}


class ProducerConnection(Body):
    """A producer group's members."""

    connection_set: list[ConnectionBody] = []


class TopicOffset(Body):
    """What one queue holds. Offsets count messages, the time is in ms."""

    last_update_timestamp: int = 0
    max_offset: int = 0
    min_offset: int = 0


class TopicStatsTable(Body):
    """What each queue of a topic holds."""

    offset_table: dict[Any, TopicOffset] = {}
    topic_put_tps: float = 0.0


class OffsetWrapper(Body):
    """How far a group is in one queue."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    pull_offset: int = 0


class ConsumeStats(Body):
    """How far a group is."""

    consume_tps: float = 0.0
    offset_table: dict[Any, OffsetWrapper] = {}


class OffsetTableBody(Body):
    """An offset for each queue."""

    offset_table: dict[Any, int] = {}


class ConsumerOffsetTable(Body):
    """`config/consumerOffset.json`: "topic@group" to queue id to offset."""

    data_version: DataVersion | None = None
    offset_table: dict[str, dict[int, int]] = {}


class SubscriptionAnswer(Body):
    """What a group wants of one topic."""

    group: str
    topic: str
    subscription_data: SubscriptionData | None = None


class ProducerInfo(Body):
    """One member of a producer group."""

    client_id: str
    language: str
    last_update_timestamp: int
    version: int
    remote_ip: str = msgspec.field(name="remoteIP")


class ProducerTable(Body):
    """The members of all producer groups."""

    data: dict[str, list[ProducerInfo]] = {}
