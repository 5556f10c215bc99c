import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.routes import (
    MIXED,
    accepted_types,
    assignments,
    endpoints_of,
    message_queues,
    topic_type,
)

from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData

TOPIC = m.Resource(resource_namespace="ns", name="orders")
HERE = endpoints_of("127.0.0.1", 8081)
NORMAL = (m.MessageType.NORMAL,)
NONE, READ, WRITE, BOTH = (
    m.Permission.NONE,
    m.Permission.READ,
    m.Permission.WRITE,
    m.Permission.READ_WRITE,
)


def route(*queues: QueueData, brokers: dict[str, dict[int, str]] | None = None) -> TopicRouteData:
    members = {"a": {0: "10.0.0.1:10911"}} if brokers is None else brokers
    return TopicRouteData(
        broker_datas=[BrokerData(name, addresses) for name, addresses in members.items()],
        queue_datas=list(queues),
    )


@pytest.mark.parametrize(
    ("perm", "read", "write", "expected"),
    [
        (6, 2, 2, [BOTH, BOTH]),
        (7, 1, 1, [BOTH]),
        (6, 3, 1, [READ, READ, BOTH]),
        (6, 1, 2, [WRITE, BOTH]),
        (6, 0, 0, []),
        (6, -5, 1, [WRITE]),
        (4, 2, 3, [READ, READ]),
        (2, 2, 3, [WRITE, WRITE, WRITE]),
        (0, 2, 3, [NONE, NONE, NONE]),
        (1, 0, 0, [NONE]),
    ],
)
def test_queues_are_listed_with_what_may_be_done_with_them(perm, read, write, expected):
    found = message_queues(TOPIC, route(QueueData("a", perm, read, write)), HERE, NORMAL)
    assert [queue.permission for queue in found] == expected
    assert [queue.id for queue in found] == list(range(len(expected)))


def test_a_queue_is_described_in_full():
    (queue,) = message_queues(
        TOPIC, route(QueueData("a", 6, 1, 1)), HERE, (m.MessageType.FIFO, m.MessageType.DELAY)
    )
    assert queue == m.MessageQueue(
        topic=TOPIC,
        id=0,
        permission=BOTH,
        broker=m.Broker(name="a", id=0, endpoints=HERE),
        accept_message_types=[m.MessageType.FIFO, m.MessageType.DELAY],
    )


def test_each_member_of_a_broker_has_entries_the_master_first():
    brokers = {"a": {1: "10.0.0.2:10911", 0: "10.0.0.1:10911"}, "b": {0: "10.0.0.3:10911"}}
    queues = [QueueData("b", 6, 1, 1), QueueData("gone", 6, 4, 4), QueueData("a", 6, 2, 2)]
    found = message_queues(TOPIC, route(*queues, brokers=brokers), HERE, NORMAL)
    assert [(queue.broker.name, queue.broker.id, queue.id) for queue in found] == [
        ("b", 0, 0), ("a", 0, 0), ("a", 0, 1), ("a", 1, 0), ("a", 1, 1),
    ]  # fmt: skip


@given(st.integers(0, 7), st.integers(-9, 9), st.integers(-9, 9))
def test_permissions_add_up_to_the_queues_of_a_broker(perm: int, read: int, write: int):
    found = message_queues(TOPIC, route(QueueData("a", perm, read, write)), HERE, NORMAL)
    may = [queue.permission for queue in found]
    if perm & 6:
        assert sum(each in (READ, BOTH) for each in may) == (max(0, read) if perm & 4 else 0)
        assert sum(each in (WRITE, BOTH) for each in may) == (max(0, write) if perm & 2 else 0)
    else:
        assert may == [NONE] * max(1, read, write)


@pytest.mark.parametrize(
    ("attribute", "kind", "accepted"),
    [
        (None, m.MessageType.NORMAL, ["NORMAL"]),
        ("", m.MessageType.NORMAL, ["NORMAL"]),
        ("NORMAL", m.MessageType.NORMAL, ["NORMAL"]),
        ("fifo", m.MessageType.FIFO, ["FIFO"]),
        ("Delay", m.MessageType.DELAY, ["DELAY"]),
        ("TRANSACTION", m.MessageType.TRANSACTION, ["TRANSACTION"]),
        ("MIXED", MIXED, ["NORMAL", "FIFO", "DELAY", "TRANSACTION"]),
        ("LITE", m.MessageType.LITE, ["LITE"]),
        ("PRIORITY", m.MessageType.PRIORITY, ["PRIORITY"]),
        ("UNSPECIFIED", m.MessageType.MESSAGE_TYPE_UNSPECIFIED, ["MESSAGE_TYPE_UNSPECIFIED"]),
        ("of next year", m.MessageType.MESSAGE_TYPE_UNSPECIFIED, ["MESSAGE_TYPE_UNSPECIFIED"]),
    ],
)
def test_the_type_of_a_topic_says_what_it_takes(attribute, kind, accepted):
    assert topic_type(attribute) == kind
    assert [each.name for each in accepted_types(attribute)] == accepted


def test_a_normal_group_asks_each_broker_for_all_its_queues():
    brokers = {"a": {0: "x"}, "b": {0: "y"}, "slave": {1: "z"}}
    queues = [
        QueueData("b", 6, 4, 4),
        QueueData("slave", 6, 4, 4),
        QueueData("gone", 6, 4, 4),
        QueueData("a", 4, 2, 2),
    ]
    found = assignments(TOPIC, route(*queues, brokers=brokers), HERE, ordered=False)
    assert [each.message_queue for each in found] == [
        m.MessageQueue(topic=TOPIC, id=-1, permission=BOTH, broker=m.Broker(name="b", id=0, endpoints=HERE)),
        m.MessageQueue(topic=TOPIC, id=-1, permission=READ, broker=m.Broker(name="a", id=0, endpoints=HERE)),
    ]


def test_an_ordered_group_gets_each_queue():
    found = assignments(TOPIC, route(QueueData("a", 6, 4, 1)), HERE, ordered=True)
    assert [each.message_queue.id for each in found] == [0, 1, 2, 3]


@pytest.mark.parametrize("queues", [[], [QueueData("a", 2, 4, 4)], [QueueData("a", 6, 0, 4)]])
@pytest.mark.parametrize("ordered", [False, True])
def test_what_cannot_be_read_is_forbidden(queues, ordered):
    with pytest.raises(Rejected, match="topic orders has no readable queue") as caught:
        assignments(TOPIC, route(*queues), HERE, ordered)
    assert caught.value.code == m.Code.FORBIDDEN


def test_a_route_that_cannot_be_true_is_not_spelt_out():
    absurd = route(QueueData("a", 6, 2**31 - 1, 1))
    for build in (
        lambda: message_queues(TOPIC, absurd, HERE, NORMAL),
        lambda: assignments(TOPIC, absurd, HERE, ordered=True),
    ):
        with pytest.raises(Rejected, match="names 2147483647 queues, the most is 65536") as caught:
            build()
        assert caught.value.code == m.Code.INTERNAL_SERVER_ERROR


@pytest.mark.parametrize(
    ("host", "scheme", "written"),
    [
        ("127.0.0.1", m.AddressScheme.IPv4, "127.0.0.1"),
        ("::1", m.AddressScheme.IPv6, "::1"),
        ("[2001:db8::1]", m.AddressScheme.IPv6, "2001:db8::1"),
        ("broker.example", m.AddressScheme.DOMAIN_NAME, "broker.example"),
        ("1.2.3", m.AddressScheme.DOMAIN_NAME, "1.2.3"),
        ("[broker]", m.AddressScheme.DOMAIN_NAME, "[broker]"),
    ],
)
def test_the_scheme_of_an_address_is_the_form_of_its_host(host, scheme, written):
    assert endpoints_of(host, 8081) == m.Endpoints(
        scheme=scheme, addresses=[m.Address(host=written, port=8081)]
    )
