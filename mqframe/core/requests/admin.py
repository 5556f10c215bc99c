"""Requests of operators to a broker (wire.md §3.5)."""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import Since
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


@request(208, answer_body="ConsumeStats", needs=group(Action.GET) & topic(Action.GET, optional=True))
class GetConsumeStats(Request):
    """How far a group has come, queue by queue."""

    consumer_group: str
    topic: str | None = None
    topic_list: Annotated[str | None, Since("5.3.2")] = None


@request(28, answer_body="KVTable", needs=cluster(Action.GET, operators=False))
class GetBrokerRuntimeInfo(Request):
    """Counters and rates of a broker."""


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


@request(61, answer_body="config/timermetrics", needs=cluster(Action.GET, operators=False), since="5.0.0")
class GetTimerMetrics(Request):
    """How many messages of each topic wait for a given time."""


@request(323, needs=cluster(Action.UPDATE), at_slaves=AtSlaves.TRANSACTIONS)
class ResumeCheckHalfMessage(Request):
    """Check a half message again from the beginning; `msg_id` is its offset id."""

    msg_id: str
    topic: Annotated[str | None, Since("5.3.0", alters=False)] = None
