"""Requests to a name server (wire.md §3.4)."""

from __future__ import annotations

from typing import Annotated

from mqframe.core.parameters import Since
from mqframe.core.requests.fields import Header, Int, Long, Request, request
from mqframe.core.requests.needs import Action, all_topics, brokers, cluster, topic


@request(105, answer_body="TopicRouteData", needs=topic(Action.PUB, Action.SUB, Action.GET))
class GetRouteinfoByTopic(Request):
    """The brokers and queues of a topic."""

    topic: str
    accept_standard_json_only: Annotated[bool | None, Since("4.9.4", alters=False)] = None


@request(106, answer_body="ClusterInfo", needs=cluster(Action.GET, operators=False))
class GetBrokerClusterInfo(Request):
    """All brokers, by cluster."""


class RegisterBrokerAnswer(Header):
    """What a slave needs to know of its master.

    `mqframe_holder`: address of another broker, which keeps the id; this registration was ignored.
    """

    ha_server_addr: str | None = None
    master_addr: str | None = None
    mqframe_holder: str | None = None


@request(
    103,
    RegisterBrokerAnswer,
    body="RegisterBrokerBody, compressed or not",
    answer_body="KVTable",
    needs=brokers(),
)
class RegisterBroker(Request):
    """A broker registers its address and topics."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Long
    heartbeat_timeout_millis: Annotated[Long | None, Since("5.0.0", alters=False)] = None
    enable_acting_master: Annotated[bool | None, Since("5.0.0", alters=False)] = None
    compressed: bool = False
    body_crc32: Int = 0


@request(104, needs=brokers())
class UnregisterBroker(Request):
    """A broker leaves."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


class DataVersionAnswer(Header):
    """Whether what the name server holds differs from what was asked about."""

    changed: bool


@request(322, DataVersionAnswer, body="DataVersion", answer_body="DataVersion", needs=brokers())
class QueryDataVersion(Request):
    """Does the name server know this version of a broker's topics?"""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


@request(904, needs=brokers(), since="5.0.0")
class BrokerHeartbeat(Request):
    """A broker lives."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Annotated[Long | None, Since("5.1.0", alters=False)] = None
    heartbeat_timeout_mills: Annotated[Long | None, Since("5.1.0", alters=False)] = None


@request(901, answer_body="MemberGroupBody", needs=brokers(), since="5.0.0")
class GetBrokerMemberGroup(Request):
    """Addresses of the brokers of one name."""

    cluster_name: str
    broker_name: str


@request(206, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetAllTopicList(Request):
    """All topics that brokers registered."""


@request(224, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetTopicsByCluster(Request):
    """The topics of one cluster."""

    cluster: str


@request(304, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetSystemTopicListFromNs(Request):
    """Cluster and broker names, which are topics too."""


@request(311, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetUnitTopicList(Request):
    """The topics of units."""


@request(312, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetHasUnitSubTopicList(Request):
    """The topics that units subscribe to."""


@request(313, answer_body="TopicList", needs=all_topics(Action.LIST))
class GetHasUnitSubUnunitTopicList(Request):
    """The topics that units subscribe to and that belong to no unit."""


class WipeAnswer(Header):
    """How many topics were changed."""

    wipe_topic_count: Int


@request(205, WipeAnswer, needs=cluster(Action.UPDATE))
class WipeWritePermOfBroker(Request):
    """Stop producers from writing to a broker."""

    broker_name: str


class AddAnswer(Header):
    """How many topics were changed."""

    add_topic_count: Int


@request(327, AddAnswer, needs=cluster(Action.UPDATE), since="4.9.2")
class AddWritePermOfBroker(Request):
    """Let producers write to a broker again."""

    broker_name: str


@request(216, needs=cluster(Action.UPDATE))
class DeleteTopicInNamesrv(Request):
    """Forget a topic, on all brokers or on those of one cluster."""

    topic: str
    cluster_name: Annotated[str | None, Since("4.9.4")] = None


@request(217, body="TopicRouteData", needs=cluster(Action.UPDATE), since="5.0.0")
class RegisterTopicInNamesrv(Request):
    """Enter a topic's queues by hand."""

    topic: str


@request(100, needs=cluster(Action.UPDATE))
class PutKvConfig(Request):
    """Store one value."""

    namespace: str
    key: str
    value: str


class KvAnswer(Header):
    """The stored value."""

    value: str | None = None


@request(101, KvAnswer, needs=cluster(Action.GET))
class GetKvConfig(Request):
    """Read one value."""

    namespace: str
    key: str


@request(102, needs=cluster(Action.UPDATE))
class DeleteKvConfig(Request):
    """Remove one value."""

    namespace: str
    key: str


@request(219, answer_body="KVTable", needs=cluster(Action.GET))
class GetKvlistByNamespace(Request):
    """All values of a namespace."""

    namespace: str


@request(318, body="key=value lines", needs=cluster(Action.UPDATE))
class UpdateNamesrvConfig(Request):
    """Change settings of the name server."""


@request(319, answer_body="key=value lines", needs=cluster(Action.GET))
class GetNamesrvConfig(Request):
    """Settings of the name server."""
