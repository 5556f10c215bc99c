"""Which brokers live and where topics are: what a name server knows, and its rules (wire.md §3.4).

Source: RouteInfoManager.java. Times are wall-clock milliseconds and handed in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from mqframe.core.bodies import (
    BrokerData,
    ClusterInfo,
    DataVersion,
    MemberGroup,
    QueueData,
    TopicConfig,
    TopicConfigTable,
    TopicList,
    TopicRouteData,
)
from mqframe.core.codes import PERM_READ, PERM_WRITE, ResponseCode
from mqframe.core.errors import Refusal

MASTER_ID: Final = 0
BROKER_TIMEOUT_MS: Final = 120_000
"""How long a broker that declared nothing else is kept without a sign of life."""
MEMBER_GROUP_PREFIX: Final = "%SYNC_BROKER_MEMBER_%"
"""Topics whose routes never show an acting master (source: TopicValidator.java)."""
UNIT_FLAG: Final = 1
UNIT_SUB_FLAG: Final = 2


class BrokerKey(NamedTuple):
    """What a living broker is known by."""

    cluster: str
    address: str


class Registration(msgspec.Struct, frozen=True):
    """What a broker tells of itself.

    `connection`: stands for the connection it came by, any object; `acting_master`: `None` from brokers that
    do not know the option; `timeout_ms`: how long silence is allowed.
    """

    cluster: str
    name: str
    address: str
    broker_id: int
    ha_address: str
    topics: TopicConfigTable
    connection: Any = None
    filter_servers: list[str] | None = None
    zone: str | None = None
    timeout_ms: int = BROKER_TIMEOUT_MS
    acting_master: bool | None = None


class Registered(NamedTuple):
    """What a slave is told of its master; empty for a master."""

    master_address: str | None = None
    ha_address: str | None = None


class _Live(msgspec.Struct):
    seen_ms: int
    timeout_ms: int
    version: DataVersion
    connection: Any
    ha_address: str


class Registry:
    """Brokers, clusters and topic queues.

    `acting_masters`: a broker name without master shows its lowest slave as id 0 where that may not be
    written to. `forget_missing_topics`: a registration removes the topics that it does not name.
    """

    def __init__(self, *, acting_masters: bool = False, forget_missing_topics: bool = False) -> None:
        self._acting_masters = acting_masters
        self._forget_missing_topics = forget_missing_topics
        self._queues: dict[str, dict[str, QueueData]] = {}
        self._brokers: dict[str, BrokerData] = {}
        self._clusters: dict[str, set[str]] = {}
        self._live: dict[BrokerKey, _Live] = {}
        self._filter_servers: dict[BrokerKey, list[str]] = {}
        self._mappings: dict[str, dict[str, Any]] = {}

    # Brokers come, live and go

    def register(self, told: Registration, now_ms: int) -> Registered:
        """Enter a broker and its topics, or renew it.

        A stale rival for an id that somebody holds is ignored. Raises `Refusal` when an id that is not known
        yet comes with exactly one topic: everything must be registered first.
        """
        key = BrokerKey(told.cluster, told.address)
        broker = self._brokers.get(told.name)
        addresses = {} if broker is None else dict(broker.broker_addrs)
        for broker_id in [i for i, a in addresses.items() if a == told.address and i != told.broker_id]:
            del addresses[broker_id]
        holder = addresses.get(told.broker_id)
        if holder is not None and holder != told.address:
            rival = self._live.get(BrokerKey(told.cluster, holder))
            if rival and rival.version.state_version > told.topics.data_version.state_version:
                self._live.pop(key, None)
                return Registered()
        if holder is None and len(told.topics.topic_config_table) == 1:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"register broker failed: {told.name}:{told.broker_id} is not known and names one topic only",
            )
        if broker is None:
            broker = self._brokers[told.name] = BrokerData(told.name, {}, told.cluster)
        self._clusters.setdefault(told.cluster, set()).add(told.name)
        addresses[told.broker_id] = told.address
        broker.broker_addrs = addresses
        broker.enable_acting_master = bool(told.acting_master)
        broker.zone_name = told.zone
        prime_slave = (
            told.acting_master is not None
            and told.broker_id != MASTER_ID
            and told.broker_id == min(broker.broker_addrs)
        )
        if told.broker_id == MASTER_ID or prime_slave:
            self._take_topics(told, first=not holder, read_only=prime_slave and broker.enable_acting_master)
        self._live[key] = _Live(
            now_ms, told.timeout_ms, told.topics.data_version, told.connection, told.ha_address
        )
        if told.filter_servers:
            self._filter_servers[key] = list(told.filter_servers)
        elif told.filter_servers is not None:
            self._filter_servers.pop(key, None)
        return self._master_of(told)

    def _master_of(self, told: Registration) -> Registered:
        if told.broker_id == MASTER_ID:
            return Registered()
        address = self._brokers[told.name].broker_addrs.get(MASTER_ID)
        master = self._live.get(BrokerKey(told.cluster, address)) if address else None
        return Registered(address, master.ha_address) if master else Registered()

    def _take_topics(self, told: Registration, *, first: bool, read_only: bool) -> None:
        table = told.topics.topic_config_table
        mappings = told.topics.topic_queue_mapping_info_map or {}
        if self._forget_missing_topics and not mappings:
            for topic in [t for t, queues in self._queues.items() if told.name in queues and t not in table]:
                self._remove_queues(topic, told.name)
        changed = first or self.changed(told.cluster, told.address, told.topics.data_version)
        for name, config in table.items():
            topic = config.topic_name or name
            if changed or told.name not in self._queues.get(topic, {}):
                self._queues.setdefault(topic, {})[told.name] = _queue_data(told.name, config, read_only)
        if changed:
            for topic, mapping in mappings.items():
                owner = mapping.get("bname", told.name) if isinstance(mapping, dict) else told.name
                self._mappings.setdefault(topic, {})[owner] = mapping

    def heartbeat(self, cluster: str, address: str, now_ms: int) -> bool:
        """Note that a broker lives; tells whether it is known."""
        live = self._live.get(BrokerKey(cluster, address))
        if live is not None:
            live.seen_ms = now_ms
        return live is not None

    def data_version(self, cluster: str, address: str) -> DataVersion | None:
        """The version of a broker's topics that is held."""
        live = self._live.get(BrokerKey(cluster, address))
        return live.version if live else None

    def changed(self, cluster: str, address: str, version: DataVersion) -> bool:
        """Whether `version` is not the one that is held."""
        return self.data_version(cluster, address) != version

    def unregister(self, cluster: str, name: str, address: str) -> None:
        """Remove a broker; its topics go with the last one of its name."""
        key = BrokerKey(cluster, address)
        self._live.pop(key, None)
        self._filter_servers.pop(key, None)
        broker = self._brokers.get(name)
        if broker is not None:
            broker.broker_addrs = {i: a for i, a in broker.broker_addrs.items() if a != address}
            if broker.broker_addrs:
                self._lose_master(broker)
                return
            del self._brokers[name]
            names = self._clusters.get(cluster, set())
            names.discard(name)
            if not names:
                self._clusters.pop(cluster, None)
        for topic in list(self._queues):
            self._remove_queues(topic, name)

    def _lose_master(self, broker: BrokerData) -> None:
        if broker.enable_acting_master and MASTER_ID not in broker.broker_addrs:
            for queues in self._queues.values():
                if broker.broker_name in queues:
                    queues[broker.broker_name].perm &= ~PERM_WRITE

    def connection_closed(self, connection: object) -> list[BrokerKey]:
        """Remove the brokers that lived by `connection`, and name them."""
        gone = [key for key, live in self._live.items() if live.connection is connection]
        for key in gone:
            self._remove(key)
        return gone

    def expire(self, now_ms: int) -> list[tuple[BrokerKey, Any]]:
        """Remove the brokers silent for longer than they declared; gives them and their connections."""
        late = [
            (key, live.connection)
            for key, live in self._live.items()
            if live.seen_ms + live.timeout_ms < now_ms
        ]
        for key, _ in late:
            self._remove(key)
        return late

    def _remove(self, key: BrokerKey) -> None:
        for broker in list(self._brokers.values()):
            if broker.cluster == key.cluster and key.address in broker.broker_addrs.values():
                self.unregister(key.cluster, broker.broker_name, key.address)
                return
        self._live.pop(key, None)

    # Topics

    def _remove_queues(self, topic: str, name: str) -> None:
        queues = self._queues[topic]
        queues.pop(name, None)
        if not queues:
            del self._queues[topic]

    def register_topic(self, topic: str, queues: Iterable[QueueData]) -> bool:
        """Enter a topic's queues by hand; refused, with `False`, when they name an unknown broker."""
        given = list(queues)
        if not given or any(queue.broker_name not in self._brokers for queue in given):
            return False
        self._queues.setdefault(topic, {}).update({queue.broker_name: queue for queue in given})
        return True

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Forget a topic, everywhere or on the brokers of one cluster."""
        if topic not in self._queues:
            return
        if not cluster:
            del self._queues[topic]
            return
        for name in self._clusters.get(cluster, set()):
            if topic in self._queues:
                self._remove_queues(topic, name)

    def set_writable(self, name: str, writable: bool) -> int:
        """Take the write permission of all topics of a broker name, or give it; tells how many there are."""
        count = 0
        for queues in self._queues.values():
            if name in queues:
                queue = queues[name]
                queue.perm = PERM_READ | PERM_WRITE if writable else queue.perm & ~PERM_WRITE
                count += 1
        return count

    def route(self, topic: str) -> TopicRouteData | None:
        """The brokers and queues of a topic, `None` when there are none."""
        queues = self._queues.get(topic)
        if not queues:
            return None
        brokers = [
            msgspec.structs.replace(self._brokers[name], broker_addrs=dict(self._brokers[name].broker_addrs))
            for name in queues
            if name in self._brokers
        ]
        if not brokers:
            return None
        if self._acting_masters and not topic.startswith(MEMBER_GROUP_PREFIX):
            for broker in brokers:
                _show_acting_master(broker, queues[broker.broker_name])
        servers = {
            address: self._filter_servers[BrokerKey(broker.cluster, address)]
            for broker in brokers
            for address in broker.broker_addrs.values()
            if BrokerKey(broker.cluster, address) in self._filter_servers
        }
        return TopicRouteData(
            brokers,
            servers,
            None,
            [msgspec.structs.replace(q) for q in queues.values()],
            self._mappings.get(topic),
        )

    # Views

    def cluster_info(self) -> ClusterInfo:
        """All brokers and clusters."""
        return ClusterInfo(
            dict(self._brokers), {name: sorted(members) for name, members in self._clusters.items()}
        )

    def members(self, cluster: str, name: str) -> MemberGroup:
        """The brokers of one name."""
        broker = self._brokers.get(name)
        return MemberGroup(name, dict(broker.broker_addrs) if broker else {}, cluster)

    def topics(self) -> list[str]:
        """All topics."""
        return list(self._queues)

    def topics_of(self, cluster: str) -> list[str]:
        """The topics that have queues in `cluster`."""
        names = self._clusters.get(cluster, set())
        return [topic for topic, queues in self._queues.items() if not names.isdisjoint(queues)]

    def system_topics(self) -> TopicList:
        """Cluster and broker names, which are topics too, and the address of some broker."""
        names = [n for cluster, members in self._clusters.items() for n in (cluster, *sorted(members))]
        address = next((a for b in self._brokers.values() for a in b.broker_addrs.values()), None)
        return TopicList(address, names)

    def unit_topics(self, wanted: int, unwanted: int = 0) -> list[str]:
        """Topics whose flags (`UNIT_FLAG`, `UNIT_SUB_FLAG`) hold all of `wanted` and none of `unwanted`."""
        found = []
        for topic, queues in self._queues.items():
            flags = next(iter(queues.values())).topic_sys_flag or 0
            if flags & wanted == wanted and not flags & unwanted:
                found.append(topic)
        return found


def _queue_data(name: str, config: TopicConfig, read_only: bool) -> QueueData:
    perm = config.perm & ~PERM_WRITE if read_only else config.perm
    return QueueData(name, perm, config.read_queue_nums, config.write_queue_nums, config.topic_sys_flag)


def _show_acting_master(broker: BrokerData, queue: QueueData) -> None:
    addresses = broker.broker_addrs
    if (
        broker.enable_acting_master
        and addresses
        and MASTER_ID not in addresses
        and not queue.perm & PERM_WRITE
    ):
        addresses[MASTER_ID] = addresses.pop(min(addresses))
