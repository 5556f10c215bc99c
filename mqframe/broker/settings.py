"""The settings of a broker."""

from __future__ import annotations

from typing import Final

from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe.core.consuming.queue_locks import LEASE_SECONDS
from mqframe.core.errors import SettingError
from mqframe.core.messages.names import is_path_part

_NAME_CHARACTERS_MAX: Final = 200


def _names_topics(name: str) -> str | None:
    # Both are topics, and parts of such that the broker makes for itself.
    if is_path_part(name) and len(name) <= _NAME_CHARACTERS_MAX and name.isascii():
        return None
    return f"must be 1 to {_NAME_CHARACTERS_MAX} ASCII characters without a slash"


@settings("broker")
class BrokerSettings:
    """Who a broker is, where it listens, what it allows."""

    name: str = setting(
        "broker-a", doc="name of the broker, unique in its cluster", check=_names_topics, conf="brokerName"
    )
    cluster: str = setting(
        "DefaultCluster", doc="name of the cluster", check=_names_topics, conf="brokerClusterName"
    )
    host: str = setting("127.0.0.1", doc="address to listen on", conf="bindAddress")
    port: int = setting(
        10911,
        doc="port to listen on, and port - 2 besides; 0: any free one",
        check=within(0, 65535),
        conf="listenPort",
    )
    advertise: str = setting(
        "",
        doc="host that clients are told; empty: the address listened on, or this machine's own",
        conf="brokerIP1",
    )
    nameservers: tuple[str, ...] = setting((), doc='name servers, "host:port"', conf="namesrvAddr")
    permission: int = setting(
        PERM_READ | PERM_WRITE,
        doc="what may be done here: 4 read, 2 write, 6 both",
        check=within(0, 7),
        conf="brokerPermission",
        live=True,
    )
    auto_create_topics: bool = setting(
        True, doc="make a topic when a message for it arrives", conf="autoCreateTopicEnable", live=True
    )
    share_new_topics: bool = setting(
        False,
        doc="have the other brokers of the cluster make a topic, too, that a message made here; so do "
        "several brokers of one mqframe server",
        live=True,
    )
    auto_create_groups: bool = setting(
        True, doc="make a consumer group when a member arrives", conf="autoCreateSubscriptionGroup", live=True
    )
    default_topic_queues: int = setting(
        8,
        doc="most queues of a topic that was made by itself",
        check=at_least(1),
        conf="defaultTopicQueueNums",
    )
    region: str = setting("DefaultRegion", doc="region that messages are marked with", conf="regionId")
    trace_on: bool = setting(True, doc="whether clients may trace their messages", conf="traceOn")
    trace_topic: bool = setting(
        False, doc="make the topic that clients trace into at the start", conf="traceTopicEnable"
    )
    server_side_reset: bool = setting(
        True,
        doc="keep reset offsets and hand them out with the next pull, instead of telling members",
        conf="useServerSideResetOffset",
        live=True,
    )
    long_polling: bool = setting(
        True, doc="hold a pull that finds nothing as long as it asks for", conf="longPollingEnable", live=True
    )
    short_polling_ms: int = setting(
        1000,
        doc="hold it for this long otherwise, ms",
        check=at_least(1),
        conf="shortPollingTimeMills",
        live=True,
    )
    pull_messages_max: int = setting(
        32,
        doc="most messages of one pull near the end of the log",
        check=at_least(1),
        conf="maxTransferCountOnMessageInMemory",
        live=True,
    )
    pull_bytes_max: int = setting(
        256 * 1024,
        doc="most bytes of one pull near the end of the log",
        check=at_least(1),
        conf="maxTransferBytesOnMessageInMemory",
        live=True,
    )
    cold_pull_messages_max: int = setting(
        8,
        doc="most messages of one pull far behind the end of the log",
        check=at_least(1),
        conf="maxTransferCountOnMessageInDisk",
        live=True,
    )
    cold_pull_bytes_max: int = setting(
        64 * 1024,
        doc="most bytes of one pull far behind the end of the log",
        check=at_least(1),
        conf="maxTransferBytesOnMessageInDisk",
        live=True,
    )
    bulk_pull_messages_max: int = setting(
        4096,
        doc="most messages of one pull of a reader that says that it reads in bulk, as Spark's tasks do; "
        "wherever they lie in the log",
        check=at_least(1),
        conf="maxTransferCountOnBulkPull",
        live=True,
    )
    bulk_pull_bytes_max: int = setting(
        256 * 1024,
        doc="most bytes of one pull of such a reader; others wait while it is read",
        check=within(1, 4 << 20),
        conf="maxTransferBytesOnBulkPull",
        live=True,
    )
    send_wait_ms: int = setting(
        200,
        doc="a send is refused as busy that was read, and for longer than this waited while the processor"
        " served others, ms",
        check=at_least(1),
        conf="waitTimeMillsInSendQueue",
        live=True,
    )
    pull_wait_ms: int = setting(
        5000,
        doc="a pull is refused as busy that was read, and for longer than this waited while the processor"
        " served others, ms",
        check=at_least(1),
        conf="waitTimeMillsInPullQueue",
        live=True,
    )
    register_interval_ms: int = setting(
        30_000,
        doc="how often name servers are told, ms",
        check=within(10, 60_000),
        conf="registerNameServerPeriod",
    )
    register_timeout_ms: int = setting(
        3000,
        doc="longest wait for a name server, ms",
        check=at_least(1),
        conf="registerBrokerTimeoutMills",
        live=True,
    )
    offsets_save_interval_ms: int = setting(
        5000,
        doc="how often consumer offsets are saved, ms",
        check=at_least(1),
        conf="flushConsumerOffsetInterval",
    )
    client_silent_ms: int = setting(
        120_000,
        doc="a client without heartbeat for so long is gone, ms",
        check=at_least(1),
        conf="channelExpiredTimeout",
        live=True,
    )
    query_messages_max: int = setting(
        32,
        doc="most messages of a look-up by unique key",
        check=at_least(1),
        conf="defaultQueryMaxNum",
        live=True,
    )
    property_filter: bool = setting(
        True,
        doc="let consumers choose messages by expressions over properties",
        conf="enablePropertyFilter",
        live=True,
    )
    topic_queues_max: int = setting(
        1024,
        doc="most read and most write queues of a topic on one broker; topics that have more keep them",
        check=within(1, 65_535),
    )
    attributes_max: int = setting(64, doc="most attributes of a topic or group", check=at_least(1))
    topics_max: int = setting(
        100_000,
        doc="most topics, those that are made by themselves included; beyond it none is made but the retry "
        "topics and dead letters of groups that exist",
        check=at_least(64),
    )
    groups_max: int = setting(
        20_000,
        doc="most consumer groups, those that are made by themselves included; beyond it none is made",
        check=at_least(64),
    )
    offsets_max: int = setting(
        1_000_000,
        doc="most offsets, one for each queue and group; beyond it a group that is new to a queue is refused "
        "as busy",
        check=at_least(64),
    )
    members_max: int = setting(
        200_000,
        doc="most members of groups; a client is one in each of its producer and consumer groups",
        check=at_least(64),
    )
    subscriptions_max: int = setting(
        500_000,
        doc="most subscriptions of all groups that have members; a long one counts once more for each 256 "
        "characters",
        check=at_least(64),
    )
    expressions_max: int = setting(
        20_000,
        doc="most expressions other than tags that are kept for groups, alive or not; for a new one those go "
        "that nobody uses",
        check=at_least(16),
    )
    expression_chars_max: int = setting(
        16_384,
        doc="longest expression of a subscription; those of one heartbeat may have four times that, chars",
        check=at_least(256),
    )
    heartbeat_groups_max: int = setting(
        1000, doc="most groups that one heartbeat names, producers and consumers together", check=at_least(1)
    )
    heartbeat_subscriptions_max: int = setting(
        5000, doc="most subscriptions of all groups in one heartbeat", check=at_least(1)
    )
    queue_locks_max: int = setting(
        200_000, doc="most queues that are locked for consumers in order", check=at_least(64)
    )
    group_rules_max: int = setting(
        100_000,
        doc="most pairs of topic and group for which operators said how, or that not, to read",
        check=at_least(64),
    )
    pull_waiting_max: int = setting(
        100_000,
        doc="most pulls that wait for messages; one with a long expression counts once more for each 256 "
        "characters",
        check=at_least(16),
    )
    queue_lock_seconds: float = setting(
        LEASE_SECONDS,
        doc="a member's lock of a queue that is consumed in order is free when it was not renewed for so"
        " long; Python's members must know it (consumer.lock_lease_seconds), Java's trust one for 30 s, s",
        check=at_least(0.1),
    )
    operator_port: int | None = setting(
        None,
        doc="port where operators are served: the others refuse then what creates, changes, deletes or "
        "configures; 0: any free one; none: every port serves all",
        check=lambda port: None if port is None else within(0, 65535)(port),
    )
    vip_port: bool = setting(True, doc="listen on port - 2 as well, where some clients send to")
    dispatchers: tuple[str, ...] = setting(
        (), doc="dispatcher plugins that follow the log", plugin="dispatcher"
    )
    services: tuple[str, ...] = setting(
        (), doc="broker service plugins, besides the broker's own services", plugin="broker_service"
    )
    services_blocked: tuple[str, ...] = setting(
        (),
        doc="the broker's own services that it does without: transactions, delay, pop, request_reply; what"
        " they serve is refused, and nothing of them is loaded",
    )
    dispatcher_lag_warn_seconds: int = setting(
        600,
        doc="a dispatcher whose oldest message has waited so long is warned of, s; 0: never",
        check=at_least(0),
        live=True,
    )
    rpc_hooks: tuple[str, ...] = setting((), doc="RPC hook plugins around every request", plugin="rpc_hook")

    def __attrs_post_init__(self) -> None:
        taken = {self.port: "broker.port", self.port - 2: "broker.port - 2 (broker.vip_port)"}
        if not self.vip_port:
            del taken[self.port - 2]
        if self.operator_port and self.operator_port in taken:
            raise SettingError(
                f"broker.operator_port = {self.operator_port} is {taken[self.operator_port]} as well: choose"
                " another port for operators"
            )
