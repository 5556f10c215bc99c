"""Where a topic lives, as clients see it: which queues to write, which to read, at which addresses.

Sources: MQClientInstance.topicRouteData2TopicPublishInfo, topicRouteData2TopicSubscribeInfo,
findBrokerAddressInSubscribe.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mqframe.core.cluster.order_config import parse_order
from mqframe.core.cluster.route_bodies import TopicRouteData
from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe.core.errors import RouteError
from mqframe.core.messages.message import MessageQueue

MASTER_ID: Final = 0
QUEUES_MAX: Final = 65_536
"""Most queues of a topic, over all its brokers, that one side reads or writes."""
BROKERS_MAX: Final = 10_000
"""Most addresses of brokers in a route."""


class TopicRoute:
    """The route of one topic. Unchanged once made.

    `data`: what the name server said. `from_default`: the topic does not exist yet; the route is that of the
    default topic, which brokers make new topics after.
    Raises `RouteError` when the order configuration cannot be read, and for more queues or brokers than can
    be true: they would be kept in memory one by one.
    """

    __slots__ = ("_addresses", "_read", "_write", "data", "from_default", "ordered", "topic")

    def __init__(self, topic: str, data: TopicRouteData, *, from_default: bool = False) -> None:
        self.topic = topic
        self.data = data
        self.from_default = from_default
        self.ordered = bool(data.order_topic_conf)
        _check_size(topic, data)
        self._addresses = {
            broker.broker_name: dict(sorted(broker.broker_addrs.items())) for broker in data.broker_datas
        }
        self._write = self._queues(self._ordered() if self.ordered else self._writable())
        readable = [(q.broker_name, q.read_queue_nums) for q in data.queue_datas if q.perm & PERM_READ]
        self._read = tuple(sorted(self._queues(readable)))

    def write_queues(self) -> tuple[MessageQueue, ...]:
        """Queues that producers choose from: by broker name and id, or as the order configuration says."""
        return self._write

    def read_queues(self) -> tuple[MessageQueue, ...]:
        """Queues that consumers share, sorted."""
        return self._read

    def master_address(self, broker_name: str) -> str | None:
        """Address of the broker with id 0, or `None` while there is none."""
        return self._addresses.get(broker_name, {}).get(MASTER_ID)

    def any_address(self, broker_name: str, broker_id: int = MASTER_ID) -> str | None:
        """Address of the broker `broker_id`; when it is gone, of the next slave, else of any member."""
        members = self._addresses.get(broker_name)
        if not members:
            return None
        found = members.get(broker_id)
        if found is None and broker_id != MASTER_ID:
            found = members.get(broker_id + 1)
        return found or next(iter(members.values()))

    def addresses(self) -> dict[str, dict[int, str]]:
        """Addresses by broker name and broker id."""
        return self._addresses

    def same_as(self, other: TopicRoute) -> bool:
        """Whether both say the same of brokers and queues, in whatever order the name server listed them."""
        return (
            self.from_default == other.from_default
            and self.data.order_topic_conf == other.data.order_topic_conf
            and self._addresses == other._addresses
            and _by_broker(self.data) == _by_broker(other.data)
        )

    def _ordered(self) -> list[tuple[str, int]]:
        return list(parse_order(self.topic, self.data.order_topic_conf or "").items())

    def _writable(self) -> list[tuple[str, int]]:
        return [
            (queues.broker_name, queues.write_queue_nums)
            for queues in sorted(self.data.queue_datas, key=lambda queues: queues.broker_name)
            if queues.perm & PERM_WRITE and MASTER_ID in self._addresses.get(queues.broker_name, {})
        ]

    def _queues(self, counts: list[tuple[str, int]]) -> tuple[MessageQueue, ...]:
        """The queues of these brokers, of each as many as it says. Raises `RouteError` for too many."""
        total = sum(max(0, count) for _, count in counts)
        if total > QUEUES_MAX:
            raise RouteError(
                f"the route of topic {self.topic} names {total} queues, the most is {QUEUES_MAX}; "
                "correct what its brokers, or operators, registered at the name server"
            )
        return tuple(
            MessageQueue(self.topic, broker_name, number)
            for broker_name, count in counts
            for number in range(count)
        )


def _check_size(topic: str, data: TopicRouteData) -> None:
    brokers = sum(len(broker.broker_addrs) for broker in data.broker_datas)
    if brokers > BROKERS_MAX:
        raise RouteError(
            f"the route of topic {topic} says {brokers} addresses of brokers; {BROKERS_MAX} can be used"
        )


def default_route(topic: str, default_topic: TopicRouteData, queues_max: int) -> TopicRoute:
    """The route of a topic that does not exist yet, after that of the default topic (wire.md §8).

    Of each broker at most `queues_max` queues are used, and not more than it has to read.
    """
    cut = [
        msgspec.structs.replace(queues, read_queue_nums=count, write_queue_nums=count)
        for queues in default_topic.queue_datas
        for count in (min(queues_max, queues.read_queue_nums),)
    ]
    data = msgspec.structs.replace(default_topic, queue_datas=cut, order_topic_conf=None)
    return TopicRoute(topic, data, from_default=True)


def _by_broker(data: TopicRouteData) -> list[tuple[str, int, int, int]]:
    return sorted((q.broker_name, q.perm, q.read_queue_nums, q.write_queue_nums) for q in data.queue_datas)
