"""Requests of operators to a broker (wire.md §3.5)."""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import OURS, Since
from mqframe.core.requests.body_needs import GROUP, GROUPS, TOPICS
from mqframe.core.requests.fields import Header, Int, Long, Request, request
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import Action, all_groups, all_topics, cluster, group, topic


@request(17, needs=topic(Action.CREATE), at_slaves=AtSlaves.TABLES, saved=Saved.TABLES)
class UpdateAndCreateTopic(Request):
    """Create or change a topic."""

    topic: str
    read_queue_nums: Int
    write_queue_nums: Int
    perm: Int
    default_topic: str | None = None
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: Int | None = None
    order: bool = False
    attributes: Annotated[str | None, Since("5.0.0")] = None
    force: Annotated[bool | None, Since("5.0.0", (False,))] = None


@request(
    18, body="TopicConfigList", needs=TOPICS, since="5.3.0", at_slaves=AtSlaves.TABLES, saved=Saved.TABLES
)
class UpdateAndCreateTopicList(Request):
    """Create or change several topics."""


@request(215, needs=topic(Action.DELETE), at_slaves=AtSlaves.TABLES)
class DeleteTopicInBroker(Request):
    """Delete a topic and its queues."""

    topic: str


class TopicTotalAnswer(Header):
    """How many topics there are in all."""

    total_topic_num: Int | None = None


@request(21, TopicTotalAnswer, answer_body="TopicConfigTable", needs=all_topics(Action.LIST))
class GetAllTopicConfig(Request):
    """The configuration of all topics."""

    topic_seq: Annotated[Int | None, Since("5.4.0", alters=False)] = None
    data_version: Annotated[str | None, Since("5.4.0", alters=False)] = None
    max_topic_num: Annotated[Int | None, Since("5.4.0", alters=False)] = None


@request(351, answer_body="TopicConfig", needs=topic(Action.GET), since="5.0.0")
class GetTopicConfig(Request):
    """The configuration of one topic."""

    topic: str
    lo: bool | None = None


@request(200, body="SubscriptionGroupConfig", needs=GROUP, at_slaves=AtSlaves.TABLES, saved=Saved.TABLES)
class UpdateAndCreateSubscriptionGroup(Request):
    """Create or change a consumer group."""


@request(
    225, body="GroupConfigList", needs=GROUPS, since="5.3.1", at_slaves=AtSlaves.TABLES, saved=Saved.TABLES
)
class UpdateAndCreateSubscriptionGroupList(Request):
    """Create or change several consumer groups."""


class GroupTotalAnswer(Header):
    """How many groups there are in all."""

    total_group_num: Int | None = None


@request(201, GroupTotalAnswer, answer_body="SubscriptionGroupTable", needs=all_groups(Action.LIST))
class GetAllSubscriptionGroupConfig(Request):
    """The configuration of all consumer groups."""

    group_seq: Annotated[Int | None, Since("5.4.0", alters=False)] = None
    data_version: Annotated[str | None, Since("5.4.0", alters=False)] = None
    max_group_num: Annotated[Int | None, Since("5.4.0", alters=False)] = None


@request(352, answer_body="SubscriptionGroupConfig", needs=group(Action.GET, field="group"), since="5.0.0")
class GetSubscriptionGroupConfig(Request):
    """The configuration of one consumer group."""

    group: str


@request(207, needs=group(Action.DELETE, field="groupName"), at_slaves=AtSlaves.TABLES, saved=Saved.TABLES)
class DeleteSubscriptionGroup(Request):
    """Delete a consumer group; its progress too with `clean_offset`, which 4.x calls `remove_offset`.

    Whoever sets one sets both, so that each server finds the one that it knows.
    """

    group_name: str
    clean_offset: Annotated[bool | None, Since("5.0.0", alters=False)] = None
    remove_offset: Annotated[bool | None, Since("4.9.0", alters=False, until="5.0.0")] = None

    def __post_init__(self) -> None:
        if self.clean_offset is None:
            self.clean_offset = self.remove_offset
        self.remove_offset = self.clean_offset


@request(202, answer_body="TopicStatsTable", needs=topic(Action.GET))
class GetTopicStatsInfo(Request):
    """Offsets of all queues of a topic."""

    topic: str


@request(208, answer_body="ConsumeStats", needs=group(Action.GET) & topic(Action.GET, optional=True))
class GetConsumeStats(Request):
    """How far a group has come, queue by queue."""

    consumer_group: str
    topic: str | None = None
    topic_list: Annotated[str | None, Since("5.3.2")] = None


@request(203, answer_body="ConsumerConnection", needs=group(Action.GET))
class GetConsumerConnectionList(Request):
    """The members of a consumer group, with subscriptions."""

    consumer_group: str


@request(204, answer_body="ProducerConnection", needs=cluster(Action.GET))
class GetProducerConnectionList(Request):
    """The members of a producer group."""

    producer_group: str


@request(328, answer_body="ProducerTable", needs=cluster(Action.GET), since="4.9.4")
class GetAllProducerInfo(Request):
    """The members of all producer groups."""


@request(300, answer_body="GroupList", needs=topic(Action.GET))
class QueryTopicConsumeByWho(Request):
    """The groups that consume a topic."""

    topic: str


@request(343, answer_body="TopicList", needs=group(Action.GET, field="group"), since="5.0.0")
class QueryTopicsByConsumer(Request):
    """The topics that a group has offsets for."""

    group: str


@request(
    345,
    answer_body="SubscriptionAnswer",
    needs=group(Action.GET, field="group") & topic(Action.GET),
    since="5.0.0",
)
class QuerySubscriptionByConsumer(Request):
    """What a group subscribes of a topic."""

    group: str
    topic: str


@request(
    222,
    answer_body="OffsetTableBody",
    needs=group(Action.UPDATE, field="group") & topic(Action.UPDATE),
    at_slaves=AtSlaves.TABLES,
    saved=Saved.PROGRESS,
)
class InvokeBrokerToResetOffset(Request):
    """Set a group's offsets of a topic by time (-1: the end) or to one offset of one queue.

    Brokers of Apache RocketMQ look at the last two fields, and no more at `is_force`, where they keep resets
    (`useServerSideResetOffset`): from 5.2.0 on by default.
    """

    topic: str
    group: str
    timestamp: Long
    is_force: bool
    queue_id: Annotated[Int | None, Since("5.2.0", (-1,))] = None
    offset: Annotated[Long | None, Since("5.2.0", (-1,))] = None


@request(28, answer_body="KVTable", needs=cluster(Action.GET, operators=False))
class GetBrokerRuntimeInfo(Request):
    """Counters and rates of a broker."""


@request(25, body="key=value lines", needs=cluster(Action.UPDATE), saved=Saved.TABLES)
class UpdateBrokerConfig(Request):
    """Change settings of a running broker."""


class ConfigAnswer(Header):
    """Version of the configuration, JSON.

    `origins`: JSON, by key, where each value that is no default comes from; where it was asked for, by
    servers of mqframe alone.
    """

    version: str | None = None
    origins: str | None = None


@request(26, ConfigAnswer, answer_body="key=value lines", needs=cluster(Action.GET))
class GetBrokerConfig(Request):
    """Settings of a running broker. `origins`: also where they come from; not known to Apache's."""

    origins: Annotated[bool | None, OURS] = None


@request(355, needs=cluster(Action.UPDATE), since="5.3.2")
class ExportRocksdbConfigToJson(Request):
    """Write tables of topics, groups and offsets as JSON; `config_type`: which of them."""

    config_type: str | None = None


@request(907, answer_body="HaRuntimeInfo", needs=cluster(Action.GET), since="5.0.0")
class GetBrokerHaStatus(Request):
    """How far the replicas of a broker are."""


@request(1007, answer_body="EpochEntryCache", needs=cluster(Action.GET), since="5.0.0")
class GetBrokerEpochCache(Request):
    """The epochs of the log of a broker that elects its master with others."""


class ExchangeBrokerHaAnswer(Header):
    """Where a master is, where its log is copied, and where its log ended when it started."""

    master_address: str | None = None
    master_ha_address: str | None = None
    master_flush_offset: Long | None = None


@request(906, ExchangeBrokerHaAnswer, needs=cluster(Action.UPDATE, operators=False), since="5.0.0")
class ExchangeBrokerHaInfo(Request):
    """Without an address: where the master is. With one: follow this master."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


@request(43, answer_body="config/consumerOffset.json", needs=cluster(Action.GET, operators=False))
class GetAllConsumerOffset(Request):
    """All stored offsets."""


@request(45, answer_body="config/delayOffset.json", needs=cluster(Action.GET, operators=False))
class GetAllDelayOffset(Request):
    """How far each delay level has come."""


@request(
    60,
    answer_body="the timer's checkpoint, as its file holds it",
    needs=cluster(Action.GET, operators=False),
    since="5.0.0",
)
class GetTimerCheckPoint(Request):
    """How far delivery at a given time has come."""


@request(61, answer_body="config/timermetrics", needs=cluster(Action.GET, operators=False), since="5.0.0")
class GetTimerMetrics(Request):
    """How many messages of each topic wait for a given time."""


@request(305, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetSystemTopicListFromBroker(Request):
    """The topics that the broker made for itself."""


@request(323, needs=cluster(Action.UPDATE), at_slaves=AtSlaves.TRANSACTIONS)
class ResumeCheckHalfMessage(Request):
    """Check a half message again from the beginning; `msg_id` is its offset id."""

    msg_id: str
    topic: Annotated[str | None, Since("5.3.0", alters=False)] = None
