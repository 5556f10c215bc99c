"""JSON bodies about routes and brokers (wire.md §4)."""

from __future__ import annotations

from typing import Any

from mqframe.core.wire.bodies import Body


class BrokerData(Body):
    """A broker name and its members' addresses by id (0: the master)."""

    broker_name: str
    broker_addrs: dict[int, str] = {}
    cluster: str = ""
    enable_acting_master: bool = False
    zone_name: str | None = None


class QueueData(Body, gc=False):
    """How many queues a topic has on a broker, and what may be done with them."""

    broker_name: str
    perm: int
    read_queue_nums: int
    write_queue_nums: int
    topic_sys_flag: int | None = None
    topic_syn_flag: int | None = None  # the spelling of peers before 4.9.0


class TopicRouteData(Body):
    """Where a topic lives."""

    broker_datas: list[BrokerData] = []
    filter_server_table: dict[str, list[str]] = {}
    order_topic_conf: str | None = None
    queue_datas: list[QueueData] = []
    topic_queue_mapping_by_broker: dict[str, Any] | None = None


class ClusterInfo(Body):
    """All brokers, and the broker names of each cluster."""

    broker_addr_table: dict[str, BrokerData] = {}
    cluster_addr_table: dict[str, list[str]] = {}


class MemberGroup(Body):
    """The members of one broker name."""

    broker_name: str
    broker_addrs: dict[int, str] = {}
    cluster: str = ""


class MemberGroupBody(Body):
    """A member group, wrapped as Apache RocketMQ wraps it."""

    broker_member_group: MemberGroup


class TopicList(Body):
    """Topic names."""

    broker_addr: str | None = None
    topic_list: list[str] = []
