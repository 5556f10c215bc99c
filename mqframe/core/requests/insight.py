"""Requests by which operators look into groups and members, and move their offsets.

Source: RequestCode.java, protocol/header.
"""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import Since
from mqframe.core.requests.fields import Int, Long, Request, request
from mqframe.core.requests.lasting import AtSlaves, Saved
from mqframe.core.requests.needs import Action, cluster, group, topic


@request(220, body="OffsetTableBody", needs=group(Action.UPDATE, field="group") & topic(Action.UPDATE))
class ResetConsumerClientOffset(Request):
    """Broker to consumer: go on from these offsets. Members written in C++ get a list instead of a map."""

    topic: str
    group: str
    timestamp: Long
    is_force: bool = False


@request(221, answer_body="ConsumerStatus", needs=group(Action.GET, field="group") & topic(Action.GET))
class GetConsumerStatusFromClient(Request):
    """Broker to consumer: which offsets do you remember?"""

    topic: str
    group: str


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


@request(307, answer_body="ConsumerRunningInfo", needs=group(Action.GET))
class GetConsumerRunningInfo(Request):
    """What a member does at the moment; brokers hand the question on to it."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


@request(
    308, answer_body="CorrectionOffsets", needs=group(Action.GET, field="compareGroup") & topic(Action.GET)
)
class QueryCorrectionOffset(Request):
    """The smallest offsets of all groups but `filter_groups` (joined by commas)."""

    compare_group: str
    topic: str
    filter_groups: str | None = None


@request(309, body="a stored message", answer_body="DirectResult", needs=cluster(Action.UPDATE))
class ConsumeMessageDirectly(Request):
    """Have one member consume one stored message now. `msg_id`: the broker's id of the message.

    The broker fills in its name, the flags and the message, and hands the request on.
    """

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: Annotated[str | None, Since("5.0.0", alters=False)] = None
    topic_sys_flag: Annotated[Int | None, Since("5.0.0", alters=False)] = None
    group_sys_flag: Annotated[Int | None, Since("5.0.0", alters=False)] = None


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
