"""Requests of operators to a broker: topics, groups, offsets, settings, and what is to be looked into.

Sources: RequestCode.java, protocol/header.
"""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import OURS, Since
from mqframe.core.requests.fields import ONLY_OURS, Header, Int, Long, Request, request
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import Action, all_topics, cluster, group, topic
from mqframe_admin.request_needs import GROUP, GROUPS, TOPICS


class TimestampAnswer(Header):
    """One time, in milliseconds."""

    timestamp: Long


@request(32, TimestampAnswer, needs=topic(Action.SUB, Action.GET))
class GetEarliestMsgStoretime(Request):
    """When the oldest message of a queue was stored."""

    topic: str
    queue_id: Int
    bname: Annotated[str | None, Since("4.9.5", alters=False)] = None


@request(
    18, body="TopicConfigList", needs=TOPICS, since="5.3.0", at_slaves=AtSlaves.TABLES, saved=Saved.TABLES
)
class UpdateAndCreateTopicList(Request):
    """Create or change several topics."""


@request(215, needs=topic(Action.DELETE), at_slaves=AtSlaves.TABLES)
class DeleteTopicInBroker(Request):
    """Delete a topic and its queues."""

    topic: str


@request(200, body="SubscriptionGroupConfig", needs=GROUP, at_slaves=AtSlaves.TABLES, saved=Saved.TABLES)
class UpdateAndCreateSubscriptionGroup(Request):
    """Create or change a consumer group."""


@request(
    225, body="GroupConfigList", needs=GROUPS, since="5.3.1", at_slaves=AtSlaves.TABLES, saved=Saved.TABLES
)
class UpdateAndCreateSubscriptionGroupList(Request):
    """Create or change several consumer groups."""


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


@request(21360, answer_body="TopicTotals", needs=cluster(Action.GET), since=ONLY_OURS)
class GetTopicTotals(Request):
    """What all topics of a broker hold, in one answer: those who watch many topics ask nothing of each."""


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


@request(25, body="key=value lines", needs=cluster(Action.UPDATE), saved=Saved.TABLES)
class UpdateBrokerConfig(Request):
    """Change settings of a running broker.

    `unset`: settings that become again what the broker was started with, with semicolons between; not known
    to Apache's.
    """

    unset: Annotated[str | None, OURS] = None


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


@request(21361, answer_body="ToldSettings", needs=cluster(Action.GET), since=ONLY_OURS)
class GetSettings(Request):
    """All settings of a running broker, with where each value comes from and whether it may be changed."""


@request(355, needs=cluster(Action.UPDATE), since="5.3.2")
class ExportRocksdbConfigToJson(Request):
    """Write tables of topics, groups and offsets as JSON; `config_type`: which of them."""

    config_type: str | None = None


@request(305, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetSystemTopicListFromBroker(Request):
    """The topics that the broker made for itself."""


@request(223, answer_body="ConsumerStatus", needs=group(Action.GET, field="group") & topic(Action.GET))
class InvokeBrokerToGetConsumerStatus(Request):
    """Which offsets do the members of a group remember? `client_addr` is a client id; empty: all."""

    topic: str
    group: str
    client_addr: str | None = None


@request(303, answer_body="ConsumeTimeSpans", needs=group(Action.GET, field="group") & topic(Action.GET))
class QueryConsumeTimeSpan(Request):
    """From when to when the messages of each queue are, and where a group is in that time."""

    topic: str
    group: str


@request(306, needs=cluster(Action.UPDATE))
class CleanExpiredConsumeQueue(Request):
    """Delete queue files whose messages are gone, now."""


@request(
    308, answer_body="CorrectionOffsets", needs=group(Action.GET, field="compareGroup") & topic(Action.GET)
)
class QueryCorrectionOffset(Request):
    """The smallest offsets of all groups but `filter_groups` (joined by commas)."""

    compare_group: str
    topic: str
    filter_groups: str | None = None


@request(
    314,
    needs=group(Action.GET, field="srcGroup") & group(Action.UPDATE, field="destGroup"),
    at_slaves=AtSlaves.TABLES,
    saved=Saved.PROGRESS,
)
class CloneGroupOffset(Request):
    """Give a group the offsets of another. `offline`: also of topics that its members do not want."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


@request(315, answer_body="BrokerStatsData", needs=cluster(Action.GET))
class ViewBrokerStatsData(Request):
    """One of the broker's statistics over a minute, an hour, a day."""

    stats_name: str
    stats_key: str


@request(316, needs=cluster(Action.UPDATE))
class CleanUnusedTopic(Request):
    """Delete queues of topics that do not exist any more, now."""


@request(317, answer_body="ConsumeStatsList", needs=cluster(Action.GET))
class GetBrokerConsumeStats(Request):
    """How far all groups of a broker are. `is_order`: only ordered topics."""

    is_order: bool = False


@request(321, answer_body="QueueEntries", needs=topic(Action.GET) & group(Action.GET, optional=True))
class QueryConsumeQueue(Request):
    """Entries of a queue from `index` on, as they are stored."""

    topic: str
    queue_id: Int
    index: Long
    count: Int
    consumer_group: str | None = None


@request(329, needs=cluster(Action.UPDATE), since="4.9.4")
class DeleteExpiredCommitLog(Request):
    """Delete log files that are past their time, now."""


@request(
    353,
    answer_body="GroupForbidden",
    needs=group(Action.UPDATE, field="group") & topic(Action.UPDATE),
    since="5.0.0",
    at_slaves=AtSlaves.TABLES,
    saved=Saved.TABLES,
)
class UpdateAndGetGroupForbidden(Request):
    """Whether a group may read a topic; changed when `readable` is given."""

    group: str
    topic: str
    readable: bool | None = None


class HandOverLeadAnswer(Header):
    """`epoch`: the term that ends; `to`: the broker that is to lead next, by number."""

    epoch: Int
    to: Int


@request(21902, HandOverLeadAnswer, needs=cluster(Action.UPDATE), since=ONLY_OURS)
class HandOverLead(Request):
    """Leader of an elected group, take no more messages, have all you have confirmed, and give up the lead.

    `to`: number of the broker that is to lead next, one in sync; 0: any of these. After `wait_ms` without
    that it leads on, and says what stood in the way.
    """

    to: Int = 0
    wait_ms: Int = 5000
