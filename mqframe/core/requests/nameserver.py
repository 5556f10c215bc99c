"""Requests to a name server (wire.md §3.4)."""

from __future__ import annotations

from mqframe.core.requests.fields import Header, Int, Long, Request, request


@request(105, answer_body="TopicRouteData")
class GetRouteinfoByTopic(Request):
    """The brokers and queues of a topic."""

    topic: str
    accept_standard_json_only: bool | None = None


@request(106, answer_body="ClusterInfo")
class GetBrokerClusterInfo(Request):
    """All brokers, by cluster."""


class RegisterBrokerAnswer(Header):
    """What a slave needs to know of its master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


@request(103, RegisterBrokerAnswer, body="RegisterBrokerBody, compressed or not", answer_body="KVTable")
class RegisterBroker(Request):
    """A broker registers its address and topics."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Long
    heartbeat_timeout_millis: Long | None = None
    enable_acting_master: bool | None = None
    compressed: bool = False
    body_crc32: Int = 0


@request(104)
class UnregisterBroker(Request):
    """A broker leaves."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


class DataVersionAnswer(Header):
    """Whether what the name server holds differs from what was asked about."""

    changed: bool


@request(322, DataVersionAnswer, body="DataVersion", answer_body="DataVersion")
class QueryDataVersion(Request):
    """Does the name server know this version of a broker's topics?"""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


@request(904, since="5.0.0")
class BrokerHeartbeat(Request):
    """A broker lives."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Long | None = None
    heartbeat_timeout_mills: Long | None = None


@request(901, answer_body="MemberGroupBody", since="5.0.0")
class GetBrokerMemberGroup(Request):
    """Addresses of the brokers of one name."""

    cluster_name: str
    broker_name: str


@request(206, answer_body="TopicList")
class GetAllTopicList(Request):
    """All topics that brokers registered."""


@request(224, answer_body="TopicList")
class GetTopicsByCluster(Request):
    """The topics of one cluster."""

    cluster: str


@request(304, answer_body="TopicList")
class GetSystemTopicListFromNs(Request):
    """Cluster and broker names, which are topics too."""


@request(311, answer_body="TopicList")
class GetUnitTopicList(Request):
    """The topics of units."""


@request(312, answer_body="TopicList")
class GetHasUnitSubTopicList(Request):
    """The topics that units subscribe to."""


@request(313, answer_body="TopicList")
class GetHasUnitSubUnunitTopicList(Request):
    """The topics that units subscribe to and that belong to no unit."""


class WipeAnswer(Header):
    """How many topics were changed."""

    wipe_topic_count: Int


@request(205, WipeAnswer)
class WipeWritePermOfBroker(Request):
    """Stop producers from writing to a broker."""

    broker_name: str


class AddAnswer(Header):
    """How many topics were changed."""

    add_topic_count: Int


@request(327, AddAnswer)
class AddWritePermOfBroker(Request):
    """Let producers write to a broker again."""

    broker_name: str


@request(216)
class DeleteTopicInNamesrv(Request):
    """Forget a topic, on all brokers or on those of one cluster."""

    topic: str
    cluster_name: str | None = None


@request(217, body="TopicRouteData", since="5.0.0")
class RegisterTopicInNamesrv(Request):
    """Enter a topic's queues by hand."""

    topic: str


@request(100)
class PutKvConfig(Request):
    """Store one value."""

    namespace: str
    key: str
    value: str


class KvAnswer(Header):
    """The stored value."""

    value: str | None = None


@request(101, KvAnswer)
class GetKvConfig(Request):
    """Read one value."""

    namespace: str
    key: str


@request(102)
class DeleteKvConfig(Request):
    """Remove one value."""

    namespace: str
    key: str


@request(219, answer_body="KVTable")
class GetKvlistByNamespace(Request):
    """All values of a namespace."""

    namespace: str


@request(318, body="key=value lines")
class UpdateNamesrvConfig(Request):
    """Change settings of the name server."""


@request(319, answer_body="key=value lines")
class GetNamesrvConfig(Request):
    """Settings of the name server."""
