"""Requests of operators to a broker (wire.md §3.5)."""

from __future__ import annotations

from mqframe.core.requests.fields import Header, Int, Long, Request, request


@request(17)
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
    attributes: str | None = None
    force: bool | None = None


@request(18, body="TopicConfigList", since="5.3.0")
class UpdateAndCreateTopicList(Request):
    """Create or change several topics."""


@request(215)
class DeleteTopicInBroker(Request):
    """Delete a topic and its queues."""

    topic: str


class TopicTotalAnswer(Header):
    """How many topics there are in all."""

    total_topic_num: Int | None = None


@request(21, TopicTotalAnswer, answer_body="TopicConfigTable")
class GetAllTopicConfig(Request):
    """The configuration of all topics."""

    topic_seq: Int | None = None
    data_version: str | None = None
    max_topic_num: Int | None = None


@request(351, answer_body="TopicConfig", since="5.0.0")
class GetTopicConfig(Request):
    """The configuration of one topic."""

    topic: str
    lo: bool | None = None


@request(200, body="SubscriptionGroupConfig")
class UpdateAndCreateSubscriptionGroup(Request):
    """Create or change a consumer group."""


@request(225, body="GroupConfigList", since="5.3.1")
class UpdateAndCreateSubscriptionGroupList(Request):
    """Create or change several consumer groups."""


class GroupTotalAnswer(Header):
    """How many groups there are in all."""

    total_group_num: Int | None = None


@request(201, GroupTotalAnswer, answer_body="SubscriptionGroupTable")
class GetAllSubscriptionGroupConfig(Request):
    """The configuration of all consumer groups."""

    group_seq: Int | None = None
    data_version: str | None = None
    max_group_num: Int | None = None


@request(352, answer_body="SubscriptionGroupConfig", since="5.0.0")
class GetSubscriptionGroupConfig(Request):
    """The configuration of one consumer group."""

    group: str


@request(207)
class DeleteSubscriptionGroup(Request):
    """Delete a consumer group."""

    group_name: str
    clean_offset: bool | None = None


@request(202, answer_body="TopicStatsTable")
class GetTopicStatsInfo(Request):
    """Offsets of all queues of a topic."""

    topic: str


@request(208, answer_body="ConsumeStats")
class GetConsumeStats(Request):
    """How far a group has come, queue by queue."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


@request(203, answer_body="ConsumerConnection")
class GetConsumerConnectionList(Request):
    """The members of a consumer group, with subscriptions."""

    consumer_group: str


@request(204, answer_body="ProducerConnection")
class GetProducerConnectionList(Request):
    """The members of a producer group."""

    producer_group: str


@request(328, answer_body="ProducerTable")
class GetAllProducerInfo(Request):
    """The members of all producer groups."""


@request(300, answer_body="GroupList")
class QueryTopicConsumeByWho(Request):
    """The groups that consume a topic."""

    topic: str


@request(343, answer_body="TopicList", since="5.0.0")
class QueryTopicsByConsumer(Request):
    """The topics that a group has offsets for."""

    group: str


@request(345, answer_body="SubscriptionAnswer", since="5.0.0")
class QuerySubscriptionByConsumer(Request):
    """What a group subscribes of a topic."""

    group: str
    topic: str


@request(222, answer_body="OffsetTableBody")
class InvokeBrokerToResetOffset(Request):
    """Set a group's offsets of a topic by time (-1: the end) or to one offset of one queue."""

    topic: str
    group: str
    timestamp: Long
    is_force: bool
    queue_id: Int | None = None
    offset: Long | None = None


@request(28, answer_body="KVTable")
class GetBrokerRuntimeInfo(Request):
    """Counters and rates of a broker."""


@request(25, body="key=value lines")
class UpdateBrokerConfig(Request):
    """Change settings of a running broker."""


class ConfigAnswer(Header):
    """Version of the configuration, JSON."""

    version: str | None = None


@request(26, ConfigAnswer, answer_body="key=value lines")
class GetBrokerConfig(Request):
    """Settings of a running broker."""


@request(355)
class ExportRocksdbConfigToJson(Request):
    """Write tables of topics, groups and offsets as JSON; `config_type`: which of them."""

    config_type: str | None = None


@request(907, answer_body="HaRuntimeInfo")
class GetBrokerHaStatus(Request):
    """How far the replicas of a broker are."""


@request(43, answer_body="config/consumerOffset.json")
class GetAllConsumerOffset(Request):
    """All stored offsets."""


@request(45, answer_body="config/delayOffset.json")
class GetAllDelayOffset(Request):
    """How far each delay level has come."""


@request(60, answer_body="the timer's checkpoint, as its file holds it", since="5.0.0")
class GetTimerCheckPoint(Request):
    """How far delivery at a given time has come."""


@request(61, answer_body="config/timermetrics", since="5.0.0")
class GetTimerMetrics(Request):
    """How many messages of each topic wait for a given time."""


@request(305, answer_body="TopicList")
class GetSystemTopicListFromBroker(Request):
    """The topics that the broker made for itself."""


@request(323)
class ResumeCheckHalfMessage(Request):
    """Check a half message again from the beginning; `msg_id` is its offset id."""

    msg_id: str
    topic: str | None = None
