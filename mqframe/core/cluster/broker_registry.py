"""Which brokers live and where topics are: what a name server knows, and its rules (wire.md §3.4).

Source: RouteInfoManager.java. Times are wall-clock milliseconds and handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from mqframe.core.cluster.registration import MASTER_ID, Registered, Registration
from mqframe.core.cluster.route_bodies import (
    BrokerData,
    ClusterInfo,
    MemberGroup,
    QueueData,
    TopicList,
    TopicRouteData,
)
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ, PERM_WRITE, ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.measuring.budget import admit_all
from mqframe.core.wire.bodies import DataVersion

MEMBER_GROUP_PREFIX: Final = "%SYNC_BROKER_MEMBER_%"
"""Topics whose routes never show an acting master (source: TopicValidator.java)."""
UNIT_FLAG: Final = 1
UNIT_SUB_FLAG: Final = 2


class BrokerKey(NamedTuple):
    """What a living broker is known by."""

    cluster: str
    address: str


class _Live(msgspec.Struct):
    seen: float
    timeout_ms: int
    version: DataVersion
    connection: Any
    ha_address: str


class BrokerRegistry:
    """Brokers, clusters and topic queues.

    `acting_masters`: a broker name without master shows its lowest slave as id 0 where that may not be
    written to. `forget_missing_topics`: a registration removes the topics that it does not name. `entries`:
    topics counted once for each broker name that has them; `admit_broker`, `admit_entries`: raise where there
    is no room for so many more.
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
        self.entries = 0
        self.admit_broker: Callable[[int], None] = admit_all
        self.admit_entries: Callable[[int], None] = admit_all

    @property
    def living(self) -> int:
        """How many brokers there are."""
        return len(self._live)

    # Brokers come, live and go

    def register(self, registration: Registration, now: float) -> tuple[Registered, Iterator[None]]:
        """Enter a broker, or renew it. `now`: monotonic seconds.

        Its topics are entered one by one, with the steps that are returned besides; they end when the broker
        leaves or registers anew in between. A rival for an id whose holder has a greater state version is
        ignored; any other takes the id over. Raises `Refusal` when an id that is not known yet comes with
        exactly one topic: everything must be registered first; and where there is no room.
        """
        key, version = BrokerKey(registration.cluster, registration.address), registration.topics.data_version
        broker = self._brokers.get(registration.name)
        addresses = {} if broker is None else dict(broker.broker_addrs)
        # A slave that was made master comes back under another id, and must not be listed twice.
        for broker_id in [
            i for i, a in addresses.items() if a == registration.address and i != registration.broker_id
        ]:
            del addresses[broker_id]
        holder = addresses.get(registration.broker_id)
        if holder is not None and holder != registration.address:
            rival = self._live.get(BrokerKey(registration.cluster, holder))
            # Two brokers claim one id: the state version grows with each change of roles, the higher counts.
            if broker and rival and rival.version.state_version > version.state_version:
                self._live.pop(key, None)
                self._filter_servers.pop(key, None)
                broker.broker_addrs = addresses  # what it was known as before it is no longer
                return Registered(holder=holder), iter(())
        # A broker sends one topic alone when only that changed: its others would be missing here.
        if holder is None and len(registration.topics.topic_config_table) == 1:
            raise Refusal(
                ResponseCode.SYSTEM_ERROR,
                f"register broker failed: {registration.name}:{registration.broker_id} is not known and "
                "names one topic only",
            )
        if key not in self._live:
            self.admit_broker(1)
        if broker is None:
            broker = self._brokers[registration.name] = BrokerData(
                registration.name, {}, registration.cluster
            )
        self._clusters.setdefault(registration.cluster, set()).add(registration.name)
        addresses[registration.broker_id] = registration.address
        broker.broker_addrs = addresses
        broker.enable_acting_master = bool(registration.acting_master)
        broker.zone_name = registration.zone
        changed = not holder or self.changed(registration.cluster, registration.address, version)
        live = self._live[key] = _Live(
            now, registration.timeout_ms, version, registration.connection, registration.ha_address
        )
        if registration.filter_servers:
            self._filter_servers[key] = list(registration.filter_servers)
        elif registration.filter_servers is not None:
            self._filter_servers.pop(key, None)
        return self._master_of(registration), self._take_topics(registration, live, broker, changed=changed)

    def _master_of(self, registration: Registration) -> Registered:
        if registration.broker_id == MASTER_ID:
            return Registered()
        address = self._brokers[registration.name].broker_addrs.get(MASTER_ID)
        master = self._live.get(BrokerKey(registration.cluster, address)) if address else None
        return Registered(address, master.ha_address) if master else Registered()

    def _take_topics(
        self, registration: Registration, live: _Live, broker: BrokerData, *, changed: bool
    ) -> Iterator[None]:
        # Where there may be no master, the slave with the lowest id stands in for it, so its topics count.
        prime_slave = (
            registration.acting_master is not None
            and registration.broker_id != MASTER_ID
            and registration.broker_id == min(broker.broker_addrs)
        )
        if registration.broker_id != MASTER_ID and not prime_slave:
            return
        read_only = prime_slave and broker.enable_acting_master
        key = BrokerKey(registration.cluster, registration.address)
        table = registration.topics.topic_config_table
        mappings = registration.topics.topic_queue_mapping_info_map or {}
        if self._forget_missing_topics and not mappings:
            for topic in [
                t for t, queues in self._queues.items() if registration.name in queues and t not in table
            ]:
                self._remove_queues(topic, registration.name)
        for name, config in table.items():
            if self._live.get(key) is not live:
                return
            topic = config.topic_name or name
            known = registration.name in self._queues.get(topic, {})
            if changed or not known:
                self._enter_queues(topic, _queue_data(registration.name, config, read_only), known=known)
            yield
        if changed:
            for topic, mapping in mappings.items():
                owner = (
                    mapping.get("bname", registration.name)
                    if isinstance(mapping, dict)
                    else registration.name
                )
                self._mappings.setdefault(topic, {})[owner] = mapping

    def _enter_queues(self, topic: str, queue: QueueData, *, known: bool) -> None:
        if not known:
            self.admit_entries(1)
            self.entries += 1
        self._queues.setdefault(topic, {})[queue.broker_name] = queue

    def heartbeat(self, cluster: str, address: str, now: float) -> bool:
        """Note that a broker lives at `now`, monotonic seconds; returns whether it is known."""
        live = self._live.get(BrokerKey(cluster, address))
        if live is not None:
            live.seen = now
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

    def expire(self, now: float) -> list[tuple[BrokerKey, Any]]:
        """Remove the brokers silent for longer than they declared; returns them and their connections.

        `now`: monotonic seconds, so that no setting of the clock makes anybody silent.
        """
        late = [
            (key, live.connection)
            for key, live in self._live.items()
            if live.seen + live.timeout_ms / 1000 < now
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
        if queues.pop(name, None) is not None:
            self.entries -= 1
        if not queues:
            del self._queues[topic]

    def register_topic(self, topic: str, queues: Iterable[QueueData]) -> bool:
        """Enter a topic's queues by hand; refused, with `False`, when they name an unknown broker."""
        given = list(queues)
        if not given or any(queue.broker_name not in self._brokers for queue in given):
            return False
        for queue in given:
            known = queue.broker_name in self._queues.get(topic, {})
            self._enter_queues(topic, queue, known=known)
        return True

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Forget a topic, everywhere or on the brokers of one cluster."""
        if topic not in self._queues:
            return
        if not cluster:
            self.entries -= len(self._queues.pop(topic))
            return
        for name in self._clusters.get(cluster, set()):
            if topic in self._queues:
                self._remove_queues(topic, name)

    def set_writable(self, name: str, writable: bool) -> int:
        """Take the write permission of all topics of a broker name, or give it; returns their number."""
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
        # Members of one broker name learn of each other by these topics, and must see who is really master.
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

    def master(self, name: str) -> str:
        """The address of the master of the name `name`; empty: none is there."""
        broker = self._brokers.get(name)
        return "" if broker is None else broker.broker_addrs.get(MASTER_ID, "")

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
