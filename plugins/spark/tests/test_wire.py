"""What is asked of a real cluster in this process, and what its refusals become."""

from collections.abc import Iterator

import pytest
from mqframe_spark.access import OPEN
from mqframe_spark.wire import Wire, connect

from mqframe import Admin, Message, MessageQueue, Producer
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.pull import PullStatus
from mqframe.core.errors import AnswerError, ConnectError, FixError, MqframeError, RouteError
from mqframe.core.storage.record import decode_records

TOPIC = "wired"
FIRST, SECOND = (MessageQueue(TOPIC, "broker-a", number) for number in (0, 1))


@pytest.fixture(scope="module")
def nameserver(mqframe_shared_cluster) -> str:
    """Of a cluster whose topic has five messages in its first queue, and a second queue without any."""
    mqframe_shared_cluster.create_topic(TOPIC, 2)
    with Producer("p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in range(5):
            producer.send(Message(TOPIC, b"%d" % number, tag=f"tag{number % 2}"), queue=FIRST)
    address: str = mqframe_shared_cluster.nameserver
    return address


@pytest.fixture
def wire(nameserver) -> Iterator[Wire]:
    found = connect(nameserver, "wire-readers", OPEN)
    yield found
    found.close()


def test_topics_queues_and_their_ends(wire) -> None:
    assert TOPIC in wire.topics()
    assert wire.route(TOPIC).read_queues() == (FIRST, SECOND)
    assert [(wire.min_offset(queue), wire.max_offset(queue)) for queue in (FIRST, SECOND)] == [(0, 5), (0, 0)]
    assert (wire.offset_at(FIRST, 0), wire.offset_at(FIRST, 4_102_444_800_000)) == (0, 5)


def test_a_route_is_asked_for_each_time(wire, mqframe_shared_cluster) -> None:
    for count in (1, 3):
        mqframe_shared_cluster.create_topic("wired-growing", count)
        assert [queue.queue_id for queue in wire.route("wired-growing").read_queues()] == [*range(count)]


def bodies(wire: Wire, asked: list[tuple[int, int]], expression: str = "*") -> list[list[bytes]]:
    return [
        [message.body for message in decode_records(bytes(answer.records))]
        for answer in wire.pull(FIRST, asked, expression)
    ]


def test_pulls_are_answered_one_by_one_and_none_waits(wire) -> None:
    assert bodies(wire, [(1, 2), (3, 32)])[0] == [b"1", b"2"]
    assert bodies(wire, [(0, 32)], "tag1") == [[b"1", b"3"]]
    [answer] = wire.pull(SECOND, [(0, 32)], "*")
    assert (answer.status, answer.next_offset) == (PullStatus.NO_NEW_MSG, 0)
    [answer] = wire.pull(FIRST, [(9, 32)], "*")
    assert answer.status == PullStatus.OFFSET_ILLEGAL
    assert (answer.min_offset, answer.max_offset) == (0, 5)


def test_a_topic_that_nobody_has_is_the_option_s_fault(wire, nameserver) -> None:
    said = rf"^option topic = 'nowhere': the name server at {nameserver} knows no such topic$"
    with pytest.raises(FixError, match=said) as problem:
        wire.route("nowhere")
    assert not isinstance(problem.value, RouteError), "it would be tried again"


def test_name_servers_that_do_not_answer_may_be_asked_again(monkeypatch) -> None:
    wire = connect("127.0.0.1:1", "wire-readers", OPEN)

    def refuse(*_: object, **__: object) -> None:
        raise RouteError("no name server answered") from ConnectError("127.0.0.1:1: refused")

    monkeypatch.setattr("mqframe.Puller.route", refuse)
    with pytest.raises(RouteError, match=r"^option nameserver = '127.0.0.1:1': no name server answered$"):
        wire.route(TOPIC)
    wire.close()


def test_a_group_that_brokers_do_not_know_is_made_known_by_its_first_commit(wire, nameserver) -> None:
    group = "wired-progress"
    with Admin(nameserver=nameserver) as admin:
        assert group not in admin.groups.configs()
        wire.commit(group, FIRST, 3)
        wire.commit(group, SECOND, 0)
        assert group in admin.groups.configs()
    assert [wire.group_offset(group, queue) for queue in (FIRST, SECOND)] == [3, 0]
    wire.commit(group, FIRST, 5)
    assert wire.group_offset(group, FIRST) == 5


@pytest.mark.parametrize(
    ("code", "pulls"), [(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, 1), (ResponseCode.NO_PERMISSION, 0)]
)
def test_a_commit_that_is_refused_all_the_same_is_an_error(wire, monkeypatch, code, pulls) -> None:
    pulled = []

    def refuse(*_: object) -> None:
        raise AnswerError(code, "not you", "127.0.0.1:1")

    monkeypatch.setattr("mqframe.Puller.commit", refuse)
    monkeypatch.setattr("mqframe.Puller.pull_raw", lambda puller, *asked: pulled.append(asked))
    with pytest.raises(AnswerError, match="not you"):
        wire.commit("wired-refused", FIRST, 3)
    assert pulled == [(FIRST, 3, 1)] * pulls


def test_once_closed_nobody_is_asked_any_more(nameserver) -> None:
    wire = connect(nameserver, "wire-readers", OPEN)
    wire.commit("wired-closed", FIRST, 1)
    assert (wire.max_offset(FIRST), wire.group_offset("wired-closed", FIRST)) == (5, 1)
    wire.close()
    with pytest.raises(MqframeError):
        wire.max_offset(FIRST)
    with pytest.raises(MqframeError):
        wire.group_offset("wired-closed", FIRST)
