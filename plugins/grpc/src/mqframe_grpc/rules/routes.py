"""What clients are told of a topic: its queues, what they take, and at which endpoints.

Source: RouteActivity.java.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from mqframe.core.cluster.route import MASTER_ID, QUEUES_MAX
from mqframe.core.cluster.route_bodies import QueueData, TopicRouteData
from mqframe.core.codes import PERM_READ, PERM_WRITE
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected

MIXED: Final = "MIXED"
"""The type of topics that take messages of each type."""
TopicType: TypeAlias = m.MessageType | Literal["MIXED"]
ANY_QUEUE: Final = -1
"""The queue id of an assignment that stands for all queues of a broker."""

_MIXED_TYPES: Final = (
    m.MessageType.NORMAL,
    m.MessageType.FIFO,
    m.MessageType.DELAY,
    m.MessageType.TRANSACTION,
)


def topic_type(attribute: str | None) -> TopicType:
    """The type of a topic by the value of its attribute `message.type`; without one it is NORMAL.

    A type that the protocol has no name for is MESSAGE_TYPE_UNSPECIFIED: no message is of it.
    """
    if not attribute:
        return m.MessageType.NORMAL
    name = attribute.upper()
    if name == MIXED:
        return MIXED
    found = m.MessageType.__members__.get(name)
    return m.MessageType.MESSAGE_TYPE_UNSPECIFIED if found is None else found


def accepted_types(attribute: str | None) -> tuple[m.MessageType, ...]:
    """The types of messages that a topic takes, by the value of its attribute `message.type`."""
    found = topic_type(attribute)
    return _MIXED_TYPES if found == MIXED else (found,)


def message_queues(
    topic: m.Resource, route: TopicRouteData, endpoints: m.Endpoints, accepted: Sequence[m.MessageType]
) -> list[m.MessageQueue]:
    """The answer to QueryRoute: each queue at each member of its broker that the route has, the master first.

    `endpoints`: where clients reach all of them. Of a broker's queues those come first that can only be read,
    then those that can only be written, and ids count through. Raises `Rejected` INTERNAL_SERVER_ERROR for a
    route with more queues than can be true.
    """
    _check_size(topic.name, route)
    members = {broker.broker_name: sorted(broker.broker_addrs) for broker in route.broker_datas}
    found = []
    for queues in route.queue_datas:
        permissions = list(_permissions(queues))
        for number in members.get(queues.broker_name, ()):
            broker = m.Broker(name=queues.broker_name, id=number, endpoints=endpoints)
            found += [
                m.MessageQueue(
                    topic=topic, id=at, permission=permission, broker=broker, accept_message_types=accepted
                )
                for at, permission in enumerate(permissions)
            ]
    return found


def assignments(
    topic: m.Resource, route: TopicRouteData, endpoints: m.Endpoints, ordered: bool
) -> list[m.Assignment]:
    """The answer to QueryAssignment, the same for all members of a group: the pop shares the messages.

    Of each broker that can be read and has a master one entry that stands for all queues; `ordered`: each
    queue by itself. Raises `Rejected`: FORBIDDEN where nothing can be read, and as `message_queues`.
    """
    _check_size(topic.name, route)
    masters = {broker.broker_name for broker in route.broker_datas if MASTER_ID in broker.broker_addrs}
    found = []
    for queues in route.queue_datas:
        if queues.broker_name not in masters or not queues.perm & PERM_READ or queues.read_queue_nums <= 0:
            continue
        broker = m.Broker(name=queues.broker_name, id=MASTER_ID, endpoints=endpoints)
        found += [
            m.Assignment(
                message_queue=m.MessageQueue(
                    topic=topic, id=at, permission=_permission(queues.perm), broker=broker
                )
            )
            for at in (range(queues.read_queue_nums) if ordered else (ANY_QUEUE,))
        ]
    if not found:
        raise Rejected(m.Code.FORBIDDEN, f"topic {topic.name} has no readable queue")
    return found


def endpoints_of(host: str, port: int) -> m.Endpoints:
    """One address, with the scheme that the form of `host` says; an IPv6 address may be in brackets."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        version = ipaddress.ip_address(bare).version
    except ValueError:
        scheme, bare = m.AddressScheme.DOMAIN_NAME, host
    else:
        scheme = m.AddressScheme.IPv6 if version == 6 else m.AddressScheme.IPv4
    return m.Endpoints(scheme=scheme, addresses=[m.Address(host=bare, port=port)])


def _permission(perm: int) -> m.Permission:
    if perm & PERM_READ:
        return m.Permission.READ_WRITE if perm & PERM_WRITE else m.Permission.READ
    return m.Permission.WRITE if perm & PERM_WRITE else m.Permission.NONE


def _permissions(queues: QueueData) -> Iterator[m.Permission]:
    """That of each queue of a broker, by id."""
    read = max(0, queues.read_queue_nums)
    write = max(0, queues.write_queue_nums)
    permission = _permission(queues.perm)
    if permission == m.Permission.NONE:
        yield from [permission] * max(1, read, write)
        return
    read = read if queues.perm & PERM_READ else 0
    write = write if queues.perm & PERM_WRITE else 0
    both = min(read, write)
    yield from [m.Permission.READ] * (read - both)
    yield from [m.Permission.WRITE] * (write - both)
    yield from [m.Permission.READ_WRITE] * both


def _check_size(topic: str, route: TopicRouteData) -> None:
    total = sum(max(0, queues.read_queue_nums, queues.write_queue_nums) for queues in route.queue_datas)
    if total > QUEUES_MAX:
        raise Rejected(
            m.Code.INTERNAL_SERVER_ERROR,
            f"the route of topic {topic} names {total} queues, the most is {QUEUES_MAX}; correct what its"
            " brokers registered at the name server",
        )
