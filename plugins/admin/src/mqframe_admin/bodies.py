"""Bodies of what operators are answered: offsets, times, connections, statistics, entries of queues.

Source: QueueTimeSpan.java, QueryCorrectionOffsetBody.java, BrokerStatsData.java, ConsumeStatsList.java,
QueryConsumeQueueResponseBody.java, GroupForbidden.java, ConsumerConnection.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs
import msgspec

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.bodies import ConsumeStats, QueueBody
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.wire.bodies import Body


class QueueTimeSpan(Body):
    """Times of one queue, ms since 1970: of its oldest and newest message, and of what was consumed last.

    `delay_time`: age of the message that comes next, ms; 0 when there is none. A time of -1: no message.
    """

    message_queue: QueueBody
    consume_time_stamp: int = -1
    delay_time: int = 0
    max_time_stamp: int = -1
    min_time_stamp: int = -1


class ConsumeTimeSpans(Body):
    """The times of all queues of a topic."""

    consume_time_span_set: list[QueueTimeSpan] = []


class CorrectionOffsets(Body):
    """An offset by queue id."""

    correction_offsets: dict[int, int] = {}


class StatsItem(Body):
    """One statistic over one stretch of time: `sum`, `tps` a second, `avgpt` for each call."""

    avgpt: float = 0.0
    sum: int = 0
    tps: float = 0.0


class BrokerStatsData(Body):
    """One statistic over a minute, an hour, a day."""

    stats_day: StatsItem = msgspec.field(default_factory=StatsItem)
    stats_hour: StatsItem = msgspec.field(default_factory=StatsItem)
    stats_minute: StatsItem = msgspec.field(default_factory=StatsItem)


class ConsumeStatsList(Body):
    """How far all groups of a broker are; `total_diff`: messages still to be consumed."""

    broker_addr: str = ""
    consume_stats_list: list[dict[str, list[ConsumeStats]]] = []
    total_diff: int = 0
    total_inflight_diff: int = 0


class QueueEntry(Body):
    """One entry of a queue: where its record lies in the log and how long it is, bytes."""

    physic_offset: int
    physic_size: int
    tags_code: int
    bit_map: str | None = None
    eval: bool = False
    extend_data_json: str | None = None
    msg: str | None = None


class QueueEntries(Body):
    """Entries of a queue, which begins and ends at these indexes; what a group wants of the topic."""

    filter_data: str | None = None
    max_queue_index: int = 0
    min_queue_index: int = 0
    queue_data: list[QueueEntry] = []
    subscription_data: SubscriptionData | None = None


class GroupForbidden(Body):
    """Whether a group may read a topic."""

    group: str
    readable: bool
    topic: str


@attrs.frozen
class BrokerLoad:
    """What a broker's counters say of it at a glance.

    `in_per_second`, `out_per_second`: messages over the last ten seconds, as it counts itself;
    `disk_percent`: how much of the log's disk is used. What is not told, or is no number, is 0.
    """

    version: str
    in_per_second: float
    out_per_second: float
    disk_percent: float


def broker_load(counters: Mapping[str, str]) -> BrokerLoad:
    """The load of the broker with these `counters`, Apache's included (RuntimeInfo, code 28)."""
    return BrokerLoad(
        counters.get("brokerVersionDesc", ""),
        round(_first_number(counters.get("putTps")), 1),
        round(_first_number(counters.get("getTransferredTps") or counters.get("getTransferedTps")), 1),
        round(_first_number(counters.get("commitLogDiskRatio")) * 100, 1),
    )


def _first_number(text: str | None) -> float:
    try:
        return float((text or "0").split(maxsplit=1)[0])
    except (ValueError, IndexError):
        return 0.0  # Apache's have no rates until ten seconds have passed


class TopicOffset(Body):
    """What one queue holds. Offsets count messages, the time is in ms."""

    last_update_timestamp: int = 0
    max_offset: int = 0
    min_offset: int = 0


class TopicStatsTable(Body):
    """What each queue of a topic holds."""

    offset_table: dict[Any, TopicOffset] = {}
    topic_put_tps: float = 0.0


class TopicTotal(NamedTuple):
    """What a topic holds on one broker: its `queues`, messages ever `stored`, and `held`, still there.

    On the wire it is a list of the three numbers.
    """

    queues: int
    stored: int
    held: int


class TopicTotals(Body):
    """What each topic of a broker holds, by name."""

    topics: dict[str, TopicTotal] = {}


class GroupList(Body):
    """Group names."""

    group_list: list[str] = []


class GroupConfigList(Body):
    """Several groups at once."""

    group_config_list: list[SubscriptionGroupConfig] = []


class TopicConfigList(Body):
    """Several topics at once."""

    topic_config_list: list[TopicConfig] = []


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


class SubscriptionAnswer(Body):
    """What a group wants of one topic."""

    group: str
    topic: str
    subscription_data: SubscriptionData | None = None


class SettingInForce(Body):
    """One setting of a running broker.

    `path`: "section.name"; `key`: what Apache RocketMQ calls it, or the path; `former`: names of before that
    go on working; `value`: as text; `origin`: "default", or where it comes from; "" where the broker does not
    tell; `live`: it may be changed without a restart; `changed`: that was done; `meaning`: for people.
    """

    path: str
    key: str
    value: str = ""
    origin: str = ""
    live: bool = False
    changed: bool = False
    former: list[str] = []
    meaning: str = ""

    def is_called(self, name: str) -> bool:
        """Whether `name` is one of its names."""
        return name in (self.path, self.key, *self.former)


class ToldSettings(Body):
    """All settings of a running broker."""

    settings: list[SettingInForce] = []
