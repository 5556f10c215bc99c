"""JSON bodies about clients: heartbeats, checks, members (wire.md §4)."""

from __future__ import annotations

import msgspec

from mqframe.core.filtering.bodies import SubscriptionData
from mqframe.core.wire.bodies import Body


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
    """The heartbeat of a client, sent to every broker each 30 s."""

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
